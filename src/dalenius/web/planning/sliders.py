"""Sliders and labels for each kind of plan. A slider moves over the range that people use; a field takes more."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Slider:
    """A number between two ends, in even steps or in even ratios."""

    name: str
    label: str
    help: str
    least: float
    most: float
    whole: bool = False
    even: bool = False
    """In even steps; else in even ratios."""


@dataclass(frozen=True)
class Choice:
    """One of some words."""

    name: str
    label: str
    help: str
    options: tuple[tuple[str, str], ...]


DELTA = Slider(
    "delta", "Left out (delta)", "The chance of a failure, after which nothing is promised.", 1e-12, 1e-2
)

SLIDERS: dict[str, tuple[Slider | Choice, ...]] = {
    "training": (
        Slider("steps", "Steps", "How many noisy gradients are taken.", 1, 1e6, whole=True),
        Slider(
            "rate",
            "Sampling rate",
            "A record's chance to be in a step: batch size over records.",
            1e-4,
            1.0,
        ),
        Slider(
            "noise",
            "Noise",
            "Standard deviation of the noise, as a multiple of the clipping norm.",
            0.4,
            50.0,
        ),
        DELTA,
    ),
    "answers": (
        Slider("error", "Wanted error", "Each answer may be off by so much, plus or minus.", 0.5, 10_000.0),
        Slider(
            "confidence",
            "Confidence",
            "In this share of cases the error is not larger.",
            0.5,
            0.99,
            even=True,
        ),
        Slider("questions", "Answers", "How many such numbers are released.", 1, 1000, whole=True),
        Slider(
            "change",
            "One record's weight",
            "The most one record changes an answer: 1 for a count.",
            0.1,
            1000.0,
        ),
        Choice(
            "noise",
            "Noise",
            "Laplace noise needs no delta for a few answers; Gaussian noise is better for many.",
            (("gaussian", "Gaussian"), ("laplace", "Laplace")),
        ),
        DELTA,
    ),
}
