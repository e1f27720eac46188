"""Arrays in a file without a name: it is nobody else's, and goes away with its owner, however the process ends."""

from __future__ import annotations

import math
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalenius.core.arrays import Array
from dalenius.errors import SourceError


class Spool:
    """Blocks of a few arrays each, written once and read in order as often as one likes, one block in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.infer.on_tables.spool import Spool
    >>> spool = Spool()
    >>> spool.add(np.arange(3.0))
    >>> [block[0].tolist() for block in spool]
    [[0.0, 1.0, 2.0]]
    """

    def __init__(self) -> None:
        self.shapes: list[list[tuple[tuple[int, ...], Any]]] = []
        try:
            self.file = tempfile.TemporaryFile(prefix="dalenius-")  # noqa: SIM115 - open as long as this is there
        except OSError:
            raise SourceError(
                "no temporary file can be made, which a fit keeps its rows in; set TMPDIR to a folder with room for "
                "them that others cannot read."
            ) from None
        weakref.finalize(self, self.file.close)

    def add(self, *arrays: Array) -> None:
        """One more block."""
        self.shapes.append([(array.shape, array.dtype) for array in arrays])
        for array in arrays:
            self.file.write(array.tobytes())

    def __iter__(self) -> Iterator[Sequence[Array]]:
        self.file.seek(0)
        for shapes in self.shapes:
            yield [self._next(shape, dtype) for shape, dtype in shapes]

    def _next(self, shape: tuple[int, ...], dtype: Any) -> Array:
        size = math.prod(shape) * dtype.itemsize
        return np.frombuffer(self.file.read(size), dtype).reshape(shape)
