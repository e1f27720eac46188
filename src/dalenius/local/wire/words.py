"""Decisions from 64-bit words, the same in every language: nothing but comparisons of whole numbers."""

from __future__ import annotations

from collections.abc import Iterator

from dalenius.noise.source import words as secure_words

WORDS = 1 << 64
"""How many words there are. A coin of threshold t has the bias t / 2^64, exactly."""


def secure() -> Iterator[int]:
    """Words of the operating system's secure source, without end."""
    while True:
        yield int(secure_words(1)[0])


def coin(threshold: int, words: Iterator[int]) -> bool:
    """True for threshold of the 2^64 words; takes one word."""
    return next(words) < threshold


def below(m: int, words: Iterator[int]) -> int:
    """A whole number from 0 to m - 1, all alike: words from the last multiple of m on are thrown away."""
    limit = WORDS - WORDS % m
    while (word := next(words)) >= limit:
        pass
    return word % m


def heads(threshold: int, words: Iterator[int]) -> int:
    """How often a coin shows heads before the first tails; takes a word more than that."""
    found = 0
    while coin(threshold, words):
        found += 1
    return found
