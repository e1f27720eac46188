"""Outputs of any kind as rows of numbers and labels."""

from __future__ import annotations

import math
import numbers
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.audit.leaves import (
    EXACT,
    LOW_BITS,
    Path,
    as_float,
    common_words,
    contrasts,
    form,
    is_number,
    leaves,
    written,
)
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.errors import InvalidParameter

Label = tuple[str, Any]
Statistic = Callable[[Any], float]

UNSEEN, NUMBER, MISSING, NAN, FIRST_LABEL = -1, 0, 1, 2, 3
MAX_COLUMNS = 512
MAX_FORMS = 64
FORM = ("its form",)
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
    to it. Leaves that are not numbers become labels. One more column has the form of the output (types, order
    of keys), if there is more than one. What was not met in learning (a new label, a new leaf) is `UNSEEN` or
    left out: the map from output to row never depends on the draws it is applied to.
    """

    paths: tuple[Path, ...]
    labels: Mapping[Label, int]
    shape: tuple[int, ...] | None
    """The shape of an output, when all are arrays of numbers; `kept` are then the columns looked at."""
    kept: Ints | None = None
    twice: bool = False
    """Whether outputs are two in a row, whose difference and sum are looked at as well."""
    wide: bool = False
    """Whether arrays hold integers beyond 2^53, whose last digits are looked at as well."""
    texts: Mapping[Path, tuple[str, ...]] = field(default_factory=dict)
    """Where text seldom repeats, and the words to look for in it."""

    @classmethod
    def learn(cls, *samples: Sequence[Any], opaque: bool = False, twice: bool = False) -> Layout:
        """From some draws of each input; outputs that cannot be read are refused unless `opaque`."""
        forms = sorted({shown for sample in samples for shown in _forms(sample)})
        labels = {("form", shown): FIRST_LABEL + k for k, shown in enumerate(forms)}
        if not 1 < len(labels) <= MAX_FORMS:
            labels = {}
        arrays = [_plain(sample) for sample in samples]
        shapes = {None if array is None else array.shape[1:] for array in arrays}
        if len(shapes) == 1 and (shape := shapes.pop()) is not None:
            return cls._of_arrays([x for x in arrays if x is not None], shape, labels, twice)
        return cls._of_leaves(samples, labels, opaque, twice)

    @classmethod
    def _of_arrays(
        cls, arrays: list[Array], shape: tuple[int, ...], labels: dict[Label, int], twice: bool
    ) -> Layout:
        wide = any(_beyond(array) for array in arrays)
        paths: list[Path] = list(np.ndindex(shape))
        if twice:
            paths += [(name, *rest) for name in CONTRASTS for rest in np.ndindex(shape[1:])]
        if wide:
            paths += [(*index, "last digits") for index in np.ndindex(shape)]
        kept = None
        if len(paths) > MAX_COLUMNS:
            kept = _most_telling([_spread(array[:2000], twice, wide) for array in arrays])
            paths = [paths[j] for j in kept]
        return cls((*paths, FORM) if labels else tuple(paths), labels, shape, kept, twice, wide)

    @classmethod
    def _of_leaves(
        cls, samples: Sequence[Sequence[Any]], labels: dict[Label, int], opaque: bool, twice: bool
    ) -> Layout:
        counts: Counter[Path] = Counter([FORM] if labels else [])
        texts: dict[Path, list[str | bytes]] = defaultdict(list)
        for sample in samples:
            for output in (sample[i] for i, first in enumerate(_first_alike(sample)) if i == first):
                for path, leaf in _seen(output, twice):
                    if not opaque:
                        _check_readable(leaf, *(path if path not in counts else ()))
                    counts[path] += 1
                    if not is_number(leaf):
                        labels.setdefault(_label(leaf), FIRST_LABEL + len(labels))
                    if isinstance(leaf, str | bytes):
                        texts[path].append(leaf)
        total = sum(len(sample) for sample in samples)
        words = {
            path: common_words(values) for path, values in texts.items() if _seldom_repeats(values, total)
        }
        for path, values in texts.items():
            for text in values if path in words else ():
                counts.update(sub for sub, _ in written(text, path, words[path]))
        commonest = [path for path, _ in counts.most_common(MAX_COLUMNS)]
        paths = tuple(sorted((path for path in commonest if path != FORM), key=repr))
        form_path = (FORM,) if counts[FORM] else ()
        return cls(paths + form_path, labels, None, None, twice, texts=words)

    def rows(self, sample: Sequence[Any], statistics: Sequence[Statistic] = ()) -> Rows:
        extra = np.empty((len(sample), len(statistics)))
        for k, statistic in enumerate(statistics):
            extra[:, k] = [float(statistic(output[1] if self.twice else output)) for output in sample]
        array = _plain(sample) if self.shape is not None else None
        if array is not None and array.shape[1:] == self.shape:
            values, codes = self._numbers(array)
        else:
            values, codes = self._leaves(sample)
        if self.paths and self.paths[-1] == FORM:
            known = [self.labels.get(("form", shown), UNSEEN) for shown in _forms(sample)]
            codes = codes.copy()
            codes[:, -1], values[:, -1] = known, np.nan
        return Rows(values, codes, extra)

    def _numbers(self, array: Array) -> tuple[Reals, Ints]:
        values = _spread(array, self.twice, self.wide)
        if self.kept is not None:
            values = values[:, self.kept]
        if len(self.paths) > values.shape[1]:
            values = np.column_stack([values, np.zeros(len(values))])
        values = np.ascontiguousarray(values)
        gaps = np.isnan(values)
        codes = np.where(gaps, NAN, NUMBER) if gaps.any() else np.broadcast_to(np.int64(NUMBER), values.shape)
        return values, codes

    def _leaves(self, sample: Sequence[Any]) -> tuple[Reals, Ints]:
        column = {path: j for j, path in enumerate(self.paths)}
        values = np.full((len(sample), len(self.paths)), np.nan)
        codes = np.full(values.shape, MISSING, dtype=np.int64)
        for i, first in enumerate(_first_alike(sample)):
            if first < i:
                values[i], codes[i] = values[first], codes[first]
                continue
            for path, leaf in _seen(sample[i], self.twice, self.texts):
                j = column.get(path)
                if j is None:
                    continue
                if is_number(leaf):
                    values[i, j] = as_float(leaf)
                    codes[i, j] = NAN if math.isnan(values[i, j]) else NUMBER
                else:
                    codes[i, j] = self.labels.get(_label(leaf), UNSEEN)
        return values, codes

    def name(self, column: int) -> str:
        return "output" + "".join(f"[{key!r}]" for key in self.paths[column])

    def unseen(self, *samples: Rows) -> list[str]:
        """Columns in which more than a tenth of what was drawn had never been met before."""
        codes = np.concatenate([rows.codes for rows in samples])
        new = np.flatnonzero((codes == UNSEEN).mean(axis=0) > 0.1)
        return [self.name(int(j)) for j in new if self.paths[j] != FORM]


CONTRASTS = ("second - first", "second + first")


def _spread(array: Array, twice: bool, wide: bool) -> Reals:
    """Every column an array gives rise to."""
    flat = array.reshape(len(array), -1)
    parts = [flat.astype(np.float64)]
    if twice:
        one, other = (x.astype(np.float64) for x in np.split(flat, 2, axis=1))
        parts += [other - one, other + one]
    if wide:
        parts.append((flat.astype(np.int64, copy=False) & LOW_BITS).astype(np.float64))
    return np.concatenate(parts, axis=1)


def _beyond(array: Array) -> bool:
    """Integers that a double would round."""
    return array.dtype.kind in "iu" and bool(((array > EXACT) | (array < -EXACT)).any())


def _seen(
    output: Any, twice: bool, texts: Mapping[Path, tuple[str, ...]] | None = None
) -> Iterator[tuple[Path, Any]]:
    entries = list(leaves(output))
    yield from entries
    if twice:
        yield from contrasts(entries)
    for path, leaf in entries if texts else ():
        if texts and path in texts and isinstance(leaf, str | bytes):
            yield from written(leaf, path, texts[path])


def _forms(sample: Sequence[Any]) -> list[str]:
    """The form of each output; the rows of an array have one."""
    if isinstance(sample, np.ndarray):
        return [f"array of {sample.dtype}"] * len(sample)
    return list(map(form, sample))


def _seldom_repeats(values: list[str | bytes], total: int) -> bool:
    """Texts, of which known ones were counted once: whether most draws brought a new one."""
    return len(set(values)) > max(20, total // 4)


def _plain(sample: Any) -> Array | None:
    """The sample as an array of numbers, if it is one without any conversion of text or gaps."""
    if not isinstance(sample, np.ndarray):
        kinds = set(map(type, sample))
        if len(kinds) > 1 or not issubclass(next(iter(kinds)), np.ndarray | numbers.Real | list | tuple):
            return None
    try:
        array = np.asarray(sample)
    except (ValueError, OverflowError):
        return None
    if array.dtype.kind not in "biuf":
        return None
    if not isinstance(sample, np.ndarray) and array.dtype.kind == "f" and bool((np.abs(array) > EXACT).any()):
        # Integers too large for 64 bits may have become doubles on the way.
        kinds = {type(leaf) for output in sample for _, leaf in leaves(output)}
        if any(issubclass(kind, int) for kind in kinds):
            return None
    return array


def _most_telling(samples: list[Reals]) -> Ints:
    """The columns of very wide outputs whose means differ most, measured in their spread."""
    one, other = (sample.reshape(len(sample), -1) for sample in samples)
    spread = np.nan_to_num(one.std(axis=0) + other.std(axis=0)) + 1e-300
    apart = np.nan_to_num(np.abs(one.mean(axis=0) - other.mean(axis=0)) / spread)
    return np.sort(np.argsort(-apart, kind="stable")[:MAX_COLUMNS])


def _first_alike(sample: Sequence[Any]) -> list[int]:
    """For each output where the same one stood first, if it is one of those that are quickly compared."""
    known: dict[str, int] = {}
    keys = map(_key, sample)
    return [i if key is None else known.setdefault(key, i) for i, key in enumerate(keys)]


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


def _label(leaf: Any) -> Label:
    kind = type(leaf).__qualname__
    try:
        hash(leaf)
    except TypeError:
        return kind, repr(leaf)
    return kind, leaf
