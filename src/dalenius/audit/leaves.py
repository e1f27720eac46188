"""What one output shows: its leaves, its form, and the contents of its text."""

from __future__ import annotations

import numbers
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

Path = tuple[Any, ...]

EXACT = 1 << 53
LOW_BITS = (1 << 20) - 1
MAX_WORDS, MAX_NUMBERS = 100, 8
WORD, NUMBER = re.compile(r"\w+"), re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def leaves(output: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """One entry per leaf of nested tuples, lists, arrays, mappings and sets, with the path that leads to it.

    The order of a mapping is visible, and so are the last digits of integers that doubles round.
    """
    if isinstance(output, np.ndarray):
        if output.ndim == 0:
            yield from leaves(output.item(), path)
        for index in np.ndindex(output.shape) if output.ndim else ():
            yield from leaves(output[index], (*path, *index))
    elif isinstance(output, Mapping):
        for place, (key, value) in enumerate(output.items()):
            if len(output) > 1:
                yield (*path, key, "place"), place
            yield from leaves(value, (*path, key))
    elif isinstance(output, Set):
        for member in output:
            yield (*path, member), True
    elif isinstance(output, list | tuple):
        yield (*path, "length"), len(output)
        for i, value in enumerate(output):
            yield from leaves(value, (*path, i))
    elif isinstance(output, complex | np.complexfloating):
        yield (*path, "real"), output.real
        yield (*path, "imag"), output.imag
    else:
        yield path, output
        if isinstance(output, int | np.integer) and not -EXACT <= output <= EXACT:
            yield (*path, "last digits"), int(output) & LOW_BITS


def contrasts(entries: Iterable[tuple[Path, Any]]) -> Iterator[tuple[Path, Any]]:
    """Of two outputs in a row: the difference and the sum of numbers at the same place."""
    known = {path: leaf for path, leaf in entries if is_number(leaf)}
    for path, one in known.items():
        other = known.get((1, *path[1:])) if path and path[0] == 0 else None
        if other is not None:
            whole = isinstance(one, int) and isinstance(other, int)
            a, b = (int(one), int(other)) if whole else (as_float(one), as_float(other))
            yield ("second - first", *path[1:]), b - a
            yield ("second + first", *path[1:]), b + a


def form(output: Any) -> str:
    """Types and the order of keys, all the way down: what a printout shows beside the values."""
    kind = type(output).__name__
    if isinstance(output, np.ndarray):
        return f"{kind} {output.dtype} {output.shape}"
    if isinstance(output, Mapping):
        return f"{kind}({', '.join(f'{key!r}: {form(value)}' for key, value in output.items())})"
    if isinstance(output, list | tuple):
        return f"{kind}({', '.join(map(form, output))})"
    if isinstance(output, Set):
        return f"{kind}({', '.join(sorted(form(member) for member in output))})"
    return kind


def common_words(texts: Iterable[str | bytes]) -> tuple[str, ...]:
    """Words that occur in one text in a hundred, the commonest first."""
    counts: Counter[str] = Counter()
    total = 0
    for total, text in enumerate(texts, 1):  # noqa: B007
        counts.update(set(WORD.findall(as_text(text))))
    return tuple(word for word, n in counts.most_common(MAX_WORDS) if n >= max(2, total // 100))


def written(text: str | bytes, path: Path, words: Iterable[str]) -> Iterator[tuple[Path, Any]]:
    """What is written in a text: its length, the numbers in it, and which of these words."""
    plain = as_text(text)
    yield (*path, "length"), len(plain)
    for i, number in enumerate(NUMBER.findall(plain)[:MAX_NUMBERS]):
        yield (*path, "number", i), float(number)
    inside = set(WORD.findall(plain))
    for word in words:
        yield (*path, "word", word), word in inside


def as_text(text: str | bytes) -> str:
    return text.decode("latin-1") if isinstance(text, bytes) else text


def is_number(leaf: Any) -> bool:
    return isinstance(leaf, numbers.Real | np.bool_)


def as_float(leaf: Any) -> float:
    try:
        return float(leaf)
    except OverflowError:
        return float("inf") if leaf > 0 else float("-inf")
