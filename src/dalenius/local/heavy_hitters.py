"""Which of very many answers are common: a tree of prefixes, a group of people for each level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.calculus import losses
from dalenius.calculus.calibrate import calibrate
from dalenius.calculus.guarantees import Guarantee, PureDP
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.adjacency import REPLACE_ONE
from dalenius.core.arrays import Ints, Reals, unmasked
from dalenius.errors import InvalidParameter
from dalenius.local.best import promise
from dalenius.local.frequencies import Frequencies
from dalenius.local.local_hashing import LocalHashing
from dalenius.mechanisms._support.exact_arrays import whole_numbers
from dalenius.noise import permutation

Digits = NDArray[np.uint8]

CANDIDATES = 4096
"""Prefixes that are asked about at a time."""
MOST_BITS = 62
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, eq=False)
class HeavyHitters:
    """Answers found to be common, the commonest first. All of it may be published.

    Parameters
    ----------
    values
        The answers.
    estimate
        The share of each, unbiased for an answer named beforehand; the largest of many tend to be too large.
    limits
        Intervals for the shares (lower and upper in each row) that hold all at once.
    found_above
        With the same confidence, every answer with a share of at least this is among the values, unless there was no
        room (`top`).
    confidence
        The probability with which all of that holds.
    people
        How many reported, each once, at one level of the tree.
    levels
        The lengths of the prefixes, in bits.
    loss
        What one report costs the person who sends it.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> numbers = np.concatenate([np.full(60_000, 123_456), np.arange(40_000)])
    >>> found = dp.local.heavy_hitters(numbers, dp.PureDP(3.0), bits=20)
    >>> found.values[0], found.people
    (123456, 100000)
    """

    values: list[Any]
    estimate: Reals
    limits: Reals = field(repr=False)
    found_above: float
    confidence: float
    people: int
    levels: tuple[int, ...] = field(repr=False)
    loss: Loss = field(repr=False)

    def __str__(self) -> str:
        lines = [
            f"{value!s:<20}  {share:7.4f}  [{low:.4f}, {high:.4f}]"
            for value, share, (low, high) in zip(self.values, self.estimate, self.limits, strict=True)
        ]
        return "\n".join([*lines, f"every answer with a share of {self.found_above:.4f} or more is listed"])


def heavy_hitters(
    values: Any,
    guarantee: Guarantee | float,
    *,
    bits: int | None = None,
    length: int | None = None,
    alphabet: str = LETTERS,
    top: int = 16,
    confidence: float = 0.95,
) -> HeavyHitters:
    """The commonest of up to 2^62 numbers, or of all words of some length, from one report of each person.

    People are split at random into groups, one for each level of a tree of prefixes. The first group is asked about
    all prefixes of 12 bits, the next about the longer ones that begin with a prefix found common, and so on; everybody
    reports which of the prefixes in question theirs is, or that it is none of them, by local hashing. So every person
    sends one report of epsilon, in the round of their group. (The prefix extending method of Wang, Li and Jha 2021; the
    tree of Bassily, Nissim, Stemmer and Thakurta 2017.)

    With n people in the smallest group and w prefixes kept, an answer with a share of at least 2 e + 1/w is found with
    probability `confidence`, where e bounds the error of all estimates of all levels (Bernstein's inequality): its
    prefixes could be dropped only for w others with estimates as large, hence shares above 1/w. What is listed has a
    share above 0 with the same confidence.

    Parameters
    ----------
    values
        One answer for each person: whole numbers from 0 to 2^bits - 1, or texts.
    guarantee
        What one person's report keeps, whatever their answer is replaced by; a number is the epsilon of PureDP.
    bits
        For numbers: how many bits they have, up to 62.
    length
        For texts: letters that are read; what is longer is cut off.
    alphabet
        For texts: the letters; any other character counts as "?".
    top
        The number of answers to list at most.
    confidence
        The probability with which everything said of shares holds.

    Returns
    -------
    HeavyHitters
        The answers with their shares, and the share above which none is missed.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range, or a value is not of the kind described. The message never shows it.

    Examples
    --------
    >>> import dalenius as dp
    >>> words = ["sourdough"] * 30_000 + ["rye"] * 20_000 + [f"w{i % 977}" for i in range(10_000)]
    >>> found = dp.local.heavy_hitters(words, dp.PureDP(3.0), length=9)
    >>> found.values[:2]
    ['sourdough', 'rye']
    """
    epsilon = _epsilon(promise(guarantee))
    top, confidence = checks.count("top", top, least=1), checks.confidence(confidence)
    if (bits is None) == (length is None):
        raise InvalidParameter("give either bits, for numbers, or length, for texts.")
    if bits is not None:
        code: _Numbers | _Texts = _Numbers(checks.count("bits", bits, least=1))
    else:
        code = _Texts(checks.count("length", length, least=1), alphabet)
    digits = code.digits(values)
    tree = _Tree(epsilon, code.bits, max(4 * top, 64), 1 - confidence)
    if len(digits) < len(tree.levels):
        raise InvalidParameter.of(
            "values",
            f"values has {len(digits)} entries; there must be one person for each of {len(tree.levels)} levels.",
        )
    return tree.grown(digits, code, top)


def _epsilon(guarantee: Guarantee) -> float:
    if isinstance(guarantee, PureDP):
        return guarantee.epsilon
    return calibrate(lambda epsilon: losses.pure(epsilon, REPLACE_ONE), guarantee)


@dataclass(frozen=True)
class _Numbers:
    bits: int

    def __post_init__(self) -> None:
        if self.bits > MOST_BITS:
            raise InvalidParameter.of("bits", f"bits is {self.bits}; it must be at most {MOST_BITS}.")

    def digits(self, values: Any) -> Digits:
        numbers = whole_numbers(values, "values").ravel()
        if not all(0 <= x < 1 << self.bits for x in (numbers.min(), numbers.max())):
            raise InvalidParameter.of("values", f"values holds a number that does not have {self.bits} bits.")
        whole = numbers.astype(np.int64)
        shifts = np.arange(self.bits - 1, -1, -1)
        return np.stack([(whole >> shift & 1).astype(np.uint8) for shift in shifts], axis=1)

    def value(self, digits: Sequence[int]) -> int:
        return int("".join(map(str, digits)), 2)


@dataclass(frozen=True)
class _Texts:
    """A letter is its place in the alphabet from 1 on; 0 is the end, and the last code any other character."""

    length: int
    alphabet: str

    def __post_init__(self) -> None:
        letters: object = self.alphabet
        if not isinstance(letters, str) or not letters or len(set(letters)) < len(letters):
            raise InvalidParameter.of("alphabet", "alphabet must be text, no letter of which is there twice.")
        if self.length > 64:
            raise InvalidParameter.of("length", f"length is {self.length}; it must be at most 64.")

    @property
    def _each(self) -> int:
        return (len(self.alphabet) + 1).bit_length()

    @property
    def bits(self) -> int:
        return self.length * self._each

    def digits(self, values: Any) -> Digits:
        texts = values if isinstance(values, list | tuple) else np.asarray(unmasked(values)).ravel().tolist()
        if not texts or not all(isinstance(text, str) for text in texts):
            raise InvalidParameter.of("values", "values must be a list of texts; there must be at least one.")
        places = {letter: place for place, letter in enumerate(self.alphabet, 1)}
        other = len(self.alphabet) + 1
        codes = np.zeros((len(texts), self.length), dtype=np.int64)
        for row, text in zip(codes, texts, strict=True):
            read = [places.get(letter, other) for letter in text[: self.length]]
            row[: len(read)] = read
        shifts = np.arange(self._each - 1, -1, -1)
        return (codes[:, :, None] >> shifts & 1).astype(np.uint8).reshape(len(texts), -1)

    def value(self, digits: Sequence[int]) -> str:
        codes = np.reshape(digits, (self.length, -1)) @ (1 << np.arange(self._each - 1, -1, -1))
        known = "\0" + self.alphabet
        return "".join(known[c] if c < len(known) else "?" for c in codes.tolist()).split("\0")[0]


@dataclass(frozen=True)
class _Tree:
    """The levels of a tree, and how one is grown."""

    epsilon: float
    bits: int
    width: int
    failure: float

    @property
    def step(self) -> int:
        """Bits by which a prefix is extended."""
        return max(1, int(math.log2(CANDIDATES / self.width)))

    @property
    def levels(self) -> tuple[int, ...]:
        first = min(self.bits, max(1, int(math.log2(CANDIDATES))))
        return (
            first,
            *range(first + self.step, self.bits, self.step),
            *((self.bits,) if first < self.bits else ()),
        )

    @property
    def _each(self) -> float:
        """The failures allowed to each level, and to the intervals of the last one."""
        return self.failure / (len(self.levels) + 1)

    def grown(self, digits: Digits, code: _Numbers | _Texts, top: int) -> HeavyHitters:
        people, levels = len(digits), self.levels
        groups = np.array_split(permutation(people), len(levels))
        prefixes: list[tuple[int, ...]] = [()]
        paths: list[Ints] = []
        kept, missed, start = 1, 0.0, 0
        for depth, (end, group) in enumerate(zip(levels, groups, strict=True)):
            last, width = depth == len(levels) - 1, end - start
            members = self._candidates(digits[group], levels, paths, start, width)
            count = kept << width
            oracle = LocalHashing(epsilon=self.epsilon, k=count + 1)
            found = oracle.frequencies(oracle.release(np.where(members < 0, count, members)))
            missed = max(missed, 2 * self._error(oracle, len(group)) + 1 / self.width)
            order = np.argsort(-found.estimate[:count], kind="stable")[: top if last else self.width]
            if last:
                return self._result(found, order, prefixes, width, code, missed, people)
            place = np.full(count, -1, dtype=np.int64)
            place[order] = np.arange(len(order))
            paths.append(place)
            prefixes = [prefixes[j >> width] + _bits(j & ((1 << width) - 1), width) for j in order.tolist()]
            kept, start = len(order), end
        raise AssertionError("a tree has a last level; this is a defect")

    def _candidates(
        self, digits: Digits, levels: tuple[int, ...], paths: list[Ints], start: int, width: int
    ) -> Ints:
        """Which candidate of this level everyone's prefix is, or -1."""
        node = np.zeros(len(digits), dtype=np.int64)
        begin = 0
        for path, end in zip(paths, levels, strict=False):
            node = _extended(node, digits[:, begin:end])
            node = np.where(node < 0, -1, path[np.maximum(node, 0)])
            begin = end
        return _extended(node, digits[:, start : start + width])

    def _error(self, oracle: LocalHashing, people: int) -> float:
        """What no estimate of a level is off by, but for this level's part of the failures."""
        log = math.log(2 * oracle.k / self._each)
        q, p = float(oracle.q), float(oracle.p)
        variance = 0.25 if q < 0.5 < p else max(p * (1 - p), q * (1 - q))
        return (math.sqrt(2 * variance * log / people) + log / (3 * people)) / (p - q)

    def _result(
        self,
        found: Frequencies,
        order: Ints,
        prefixes: list[tuple[int, ...]],
        width: int,
        code: _Numbers | _Texts,
        missed: float,
        people: int,
    ) -> HeavyHitters:
        limits = found.conf_int(1 - self._each, simultaneous=True)
        sure = [j for j in order.tolist() if limits[j, 0] > 0]
        values = [code.value(prefixes[j >> width] + _bits(j & ((1 << width) - 1), width)) for j in sure]
        return HeavyHitters(
            values,
            found.estimate[sure],
            limits[sure],
            min(missed, 1.0),
            1 - self.failure,
            people,
            self.levels,
            losses.pure(self.epsilon, REPLACE_ONE),
        )


def _extended(node: Ints, digits: Digits) -> Ints:
    """Each node's child by the next digits; -1 stays."""
    below = digits @ (1 << np.arange(digits.shape[1] - 1, -1, -1))
    return np.where(node < 0, -1, (node << digits.shape[1]) + below)


def _bits(number: int, width: int) -> tuple[int, ...]:
    return tuple(number >> shift & 1 for shift in range(width - 1, -1, -1))
