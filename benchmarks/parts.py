"""What the cases account for, as plain data: ours and the peers build their own objects from it."""

from __future__ import annotations

import random
from typing import TypedDict


class Part(TypedDict, total=False):
    """One mechanism and how often it runs; which of the numbers are there depends on `kind`."""

    kind: str
    times: int
    scale: float
    sigma: float
    rate: float
    epsilon: float
    ridge: float


RATE = 0.01
WIDTH = 1e-6
"""Target: epsilon bracket at most WIDTH * max(1, epsilon), log delta bracket at most WIDTH * |log delta|."""

KINDS = ("laplace", "gaussian", "sampled_gaussian", "randomized_response", "objective_perturbation")


def training(sigma: float, steps: int) -> list[Part]:
    """A training run: `steps` steps of the Gaussian mechanism on Poisson samples."""
    return [{"kind": "sampled_gaussian", "sigma": sigma, "rate": RATE, "times": steps}]


def mixture(each: int = 40, seed: int = 2024) -> list[Part]:
    """`each` mechanisms of every kind, no two alike."""
    draw = random.Random(seed).uniform
    found: list[Part] = []
    for _ in range(each):
        found += [
            {"kind": "laplace", "scale": draw(5, 50), "times": 1},
            {"kind": "gaussian", "sigma": draw(5, 50), "times": 1},
            {"kind": "sampled_gaussian", "sigma": draw(0.8, 4), "rate": draw(0.001, 0.05), "times": 1},
            {"kind": "randomized_response", "epsilon": draw(0.02, 0.2), "times": 1},
            {"kind": "objective_perturbation", "sigma": draw(5, 50), "ridge": draw(20, 200), "times": 1},
        ]
    return found
