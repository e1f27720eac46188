"""Outputs of any kind as rows of numbers and labels."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.calculus.errors import InvalidParameter

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
Path = tuple[Any, ...]
Label = tuple[str, Any]
Statistic = Callable[[Any], float]

UNSEEN, NUMBER, MISSING, NAN, FIRST_LABEL = -1, 0, 1, 2, 3
MOST_COLUMNS = 512
MOST_KNOWN = 10_000
SIMPLE = frozenset({int, float, bool, str, bytes, type(None)})


@dataclass(frozen=True)
class Rows:
    """One row per output. `codes` is 0 where `numbers` holds a number, and names what is there otherwise."""

    numbers: Reals
    codes: Ints
    extra: Reals
    """What the caller's own statistics say of each output, a column each."""

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, part: slice) -> Rows:
        return Rows(self.numbers[part], self.codes[part], self.extra[part])

    @cached_property
    def finite(self) -> Reals:
        """The numbers, with 0 for what is none and very large ones for infinity."""
        if np.isfinite(self.numbers).all():
            return self.numbers
        return np.nan_to_num(self.numbers, nan=0.0, posinf=1e300, neginf=-1e300)

    @property
    def width(self) -> int:
        return int(self.numbers.shape[1])


@dataclass(frozen=True)
class Layout:
    """The columns outputs are spread over: fixed by the draws that are learned from.

    A nested output (tuple, list, array, mapping, set) has one column per leaf, named by the path that leads
    to it. Leaves that are not numbers become labels. What was not met in learning (a new label, a new leaf)
    is `UNSEEN` or left out: the map from output to row never depends on the draws it is applied to.
    """

    paths: tuple[Path, ...]
    labels: Mapping[Label, int]
    shape: tuple[int, ...] | None
    """The shape of an output, when all are arrays of numbers; `kept` are then the columns looked at."""
    kept: Ints | None = None

    @classmethod
    def learn(cls, *samples: Sequence[Any], opaque: bool = False) -> Layout:
        """From some draws of each input; `opaque` outputs, which say nothing here, are refused unless told."""
        arrays = [_plain(sample) for sample in samples]
        shapes = {None if array is None else array.shape[1:] for array in arrays}
        if len(shapes) == 1 and (shape := shapes.pop()) is not None:
            paths = tuple(np.ndindex(shape))
            if len(paths) <= MOST_COLUMNS:
                return cls(paths, {}, shape)
            kept = _most_telling(
                [np.asarray(array[:2000], dtype=np.float64) for array in arrays if array is not None]
            )
            return cls(tuple(paths[j] for j in kept), {}, shape, kept)
        counts: Counter[Path] = Counter()
        labels: dict[Label, int] = {}
        known: set[str] = set()
        for sample in samples:
            for output in sample:
                if (key := _key(output)) is not None:
                    if key in known:
                        continue
                    if len(known) < MOST_KNOWN:
                        known.add(key)
                for path, leaf in _leaves(output):
                    if not opaque:
                        _check_readable(leaf, *(path if path not in counts else ()))
                    counts[path] += 1
                    if not _is_number(leaf):
                        labels.setdefault(_label(leaf), FIRST_LABEL + len(labels))
        commonest = [path for path, _ in counts.most_common(MOST_COLUMNS)]
        return cls(tuple(sorted(commonest, key=repr)), labels, None)

    def rows(self, sample: Sequence[Any], statistics: Sequence[Statistic] = ()) -> Rows:
        extra = np.empty((len(sample), len(statistics)))
        for k, statistic in enumerate(statistics):
            extra[:, k] = [float(statistic(output)) for output in sample]
        array = _plain(sample) if self.shape is not None else None
        if array is not None and array.shape[1:] == self.shape:
            flat = array.reshape(len(array), math.prod(self.shape or ()))
            values = np.ascontiguousarray(flat if self.kept is None else flat[:, self.kept], dtype=np.float64)
            gaps = np.isnan(values)
            codes = (
                np.where(gaps, NAN, NUMBER) if gaps.any() else np.broadcast_to(np.int64(NUMBER), values.shape)
            )
            return Rows(values, codes, extra)
        column = {path: j for j, path in enumerate(self.paths)}
        values = np.full((len(sample), len(self.paths)), np.nan)
        codes = np.full(values.shape, MISSING, dtype=np.int64)
        known: dict[str, int] = {}
        for i, output in enumerate(sample):
            if (key := _key(output)) is not None:
                if (same := known.get(key)) is not None:
                    values[i], codes[i] = values[same], codes[same]
                    continue
                if len(known) < MOST_KNOWN:
                    known[key] = i
            for path, leaf in _leaves(output):
                j = column.get(path)
                if j is None:
                    continue
                if _is_number(leaf):
                    values[i, j] = _float(leaf)
                    codes[i, j] = NAN if math.isnan(values[i, j]) else NUMBER
                else:
                    codes[i, j] = self.labels.get(_label(leaf), UNSEEN)
        return Rows(values, codes, extra)

    def name(self, column: int) -> str:
        return "output" + "".join(f"[{key!r}]" for key in self.paths[column])


def _plain(sample: Sequence[Any]) -> NDArray[Any] | None:
    """The sample as an array of numbers, if it is one without any conversion of text or gaps."""
    if not isinstance(sample, np.ndarray):
        kinds = set(map(type, sample))
        if len(kinds) > 1 or not issubclass(next(iter(kinds)), np.ndarray | numbers.Real | list | tuple):
            return None
    try:
        array = np.asarray(sample)
    except (ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "biuf" else None


def _most_telling(samples: list[Reals]) -> Ints:
    """The columns of very wide outputs whose means differ most, measured in their spread."""
    one, other = (sample.reshape(len(sample), -1) for sample in samples)
    spread = np.nan_to_num(one.std(axis=0) + other.std(axis=0)) + 1e-300
    apart = np.nan_to_num(np.abs(one.mean(axis=0) - other.mean(axis=0)) / spread)
    return np.sort(np.argsort(-apart, kind="stable")[:MOST_COLUMNS])


def _leaves(output: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(output, np.ndarray):
        if output.ndim == 0:
            yield from _leaves(output.item(), path)
        for index in np.ndindex(output.shape) if output.ndim else ():
            yield from _leaves(output[index], (*path, *index))
    elif isinstance(output, Mapping):
        for key, value in output.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(output, Set):
        for member in output:
            yield (*path, member), True
    elif isinstance(output, list | tuple):
        yield (*path, "length"), len(output)
        for i, value in enumerate(output):
            yield from _leaves(value, (*path, i))
    elif isinstance(output, complex | np.complexfloating):
        yield (*path, "real"), output.real
        yield (*path, "imag"), output.imag
    else:
        yield path, output


def _key(output: Any) -> str | None:
    """Text that no other output has, for simple outputs; None for the rest. It saves work on repetitions."""
    kind = type(output)
    if kind in SIMPLE:
        return repr(output)
    if kind in (list, tuple):
        return repr(output) if all(type(x) in SIMPLE for x in output) else None
    if kind is dict:
        return repr(output) if all(type(x) in SIMPLE for item in output.items() for x in item) else None
    return None


def _check_readable(*leaves: Any) -> None:
    """Refuse what equals nothing but itself: no two draws would ever agree in it."""
    for leaf in leaves:
        kind: Any = type(leaf)
        if kind.__eq__ is object.__eq__ and leaf is not None and not isinstance(leaf, Enum | type):
            raise InvalidParameter(
                f"an output is or holds a {kind.__name__}, which the audit cannot read; it must be a "
                "number, an array, text, None, or nested tuples, lists, mappings and sets of these. Return "
                "list(...) of an iterator, the fields of an object, or give `statistics` that read it."
            )


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, numbers.Real | np.bool_)


def _float(leaf: Any) -> float:
    try:
        return float(leaf)
    except OverflowError:
        return math.inf if leaf > 0 else -math.inf


def _label(leaf: Any) -> Label:
    kind = type(leaf).__qualname__
    try:
        hash(leaf)
    except TypeError:
        return kind, repr(leaf)
    return kind, leaf
