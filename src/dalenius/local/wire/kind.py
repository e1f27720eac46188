"""What a randomizer is on the wire: whole numbers that every client can compute with, and how a report is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from dalenius.calculus.loss import Loss
from dalenius.core.record import JSON, exact
from dalenius.local.wire.words import WORDS

NEAR = 1 << 8
"""How far below the sharpest threshold one may be: estimates are as good as unbiased, within 2^-56 of a chance."""


class Malformed(ValueError):
    """A report that no client of the survey can have made."""


class Kind(ABC):
    """A family of randomizers with its tag, which is never changed.

    A `threshold` is the number of 64-bit words, of 2^64, for which a coin shows heads. It is the chance of the
    mechanism rounded to the private side, so that the law on the wire is dominated by the mechanism's loss: where
    reports weigh 1 or e^-epsilon, less weight on those that fit means a smaller ratio and less that tells.
    """

    tag: ClassVar[str]
    mechanism: ClassVar[type]
    settings: ClassVar[tuple[str, ...]] = ("k",)
    """The attributes that make the mechanism, besides epsilon; whole numbers."""
    rising: ClassVar[tuple[str, ...]] = ()
    """Coins that are the more private the more often they show heads."""
    least: ClassVar[float] = 1e-6
    """The least epsilon: below, words of 64 bits are too coarse for coins that estimates can be made from."""

    @abstractmethod
    def numbers(self, mechanism: Any) -> dict[str, int]:
        """Whole numbers that a client computes with, settings included."""

    @abstractmethod
    def thresholds(self, mechanism: Any) -> dict[str, int]:
        """The sharpest thresholds that keep epsilon; lower is more private, but for those that are `rising`."""

    def loss(self, mechanism: Any) -> Loss:
        """What a report costs: no less than what the law on the wire does."""
        return mechanism.loss  # type: ignore[no-any-return]

    def make(self, epsilon: float, record: Mapping[str, JSON]) -> Any:
        """The mechanism that a message describes."""
        return self.mechanism(epsilon=epsilon, **{name: record[name] for name in self.settings})

    @abstractmethod
    def draw(self, c: Mapping[str, int], value: int, words: Iterator[int]) -> JSON:
        """The report of a value, which was checked; c holds numbers and thresholds."""

    @abstractmethod
    def row(self, c: Mapping[str, int], report: JSON) -> Any:
        """A report as the mechanism's `tally` takes it, or Malformed."""


def double(text: JSON) -> float:
    """A number as `exact` writes it, and in no other way."""
    if not isinstance(text, str) or exact(float(text)) != text:
        raise ValueError
    return float(text)


def down(chance: Fraction) -> int:
    """The threshold of a coin that must not show heads more often than this."""
    return WORDS * chance.numerator // chance.denominator


def up(chance: Fraction) -> int:
    """The threshold of a coin that must not show heads less often than this."""
    return -(-WORDS * chance.numerator // chance.denominator)


def place(report: JSON, places: int) -> int:
    """One of this many places."""
    if type(report) is not int or not 0 <= report < places:
        raise Malformed
    return report


def bits(report: JSON, k: int) -> bytes:
    """A set of answers: two hexadecimal digits a byte, the first answer in the lowest bit of the first byte."""
    size = -(-k // 8)
    if type(report) is not str or len(report) != 2 * size or not set(report) <= set("0123456789abcdef"):
        raise Malformed
    row = bytes.fromhex(report)
    if k % 8 and row[-1] >> (k % 8):
        raise Malformed
    return row


def hexadecimal(answers: list[bool]) -> str:
    """A set of answers as `bits` reads it."""
    row = bytearray(-(-len(answers) // 8))
    for answer, present in enumerate(answers):
        row[answer >> 3] |= present << (answer & 7)
    return row.hex()
