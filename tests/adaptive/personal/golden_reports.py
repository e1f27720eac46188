"""Reports of every kind, made of fixed numbers: what the golden file holds."""

from __future__ import annotations

import numpy as np

import dalenius as dp
from dalenius.adaptive import PrivacyReport
from dalenius.adaptive.personal.curvature import Curvature
from dalenius.adaptive.personal.noisy_statistics import NoisyStatistics
from dalenius.adaptive.personal.perturbed_objective import PerturbedObjective
from dalenius.adaptive.personal.record import Fields, Labels
from dalenius.adaptive.personal.slopes import Slope
from dalenius.adaptive.personal.worst_case import WorstCase

NAMES = ("age", "school", '<b>{x}</b> & "y"')
BOUNDS = ((18.0, 90.0), (0.0, 22.0), (-1.0, 1.0))
THETA = (0.8, -1.3, 0.25, 0.1)


def reports() -> dict[str, PrivacyReport]:
    """By name; together they use every word of the format."""

    def fields(labels: Labels, normalize: bool = False, bounds: bool = True) -> Fields:
        return Fields(NAMES, "target", labels, 0.9, normalize, 0.3, BOUNDS if bounds else None)

    def fitted(labels: Labels, kind: str, size: float, **more: object) -> PerturbedObjective:
        noise = more.pop("noise", "gaussian")
        numbers = (4.0, 2.5, 3.8, 11.7, 1e-8, 3e-7, 1e-14)
        slope = Slope(kind, size, more.pop("weights", None))
        return PerturbedObjective(fields(labels), slope, THETA, noise, *numbers, **more)

    classes, targets = Labels("classes", ("no", "yes")), Labels("targets", (-3.0, 5.0))
    w = np.random.default_rng(0).normal(size=(4, 4))
    curvature = Curvature.of(np.diag([300.0, 90.0, 40.0, 5.0]) + w + w.T, 1.5)
    pure = WorstCase(dp.losses.laplace(2.0), "a count")
    return {
        "logistic": PrivacyReport([fitted(classes, "logistic", 0.5)]),
        "hinge": PrivacyReport([fitted(Labels("classes", (0, 1.5)), "huber_hinge", 0.5, rows=3)]),
        "huber": PrivacyReport([fitted(targets, "huber", 0.5, noise="k_norm")]),
        "poisson": PrivacyReport(
            [
                fitted(
                    Labels("counts", (0.0, 9.0)),
                    "clipped_poisson",
                    4.0,
                    row_rounding=0.01,
                    label_rounding=0.5,
                )
            ]
        ),
        "sharper": PrivacyReport([fitted(classes, "logistic", 1.0, gradient_sigma=5.0, curvature=curvature)]),
        "statistics": PrivacyReport(
            [NoisyStatistics(fields(targets, True, False), 6.0, 7.0, 0.95, 1e-5, 2e-6, 2)]
        ),
        "weighted": PrivacyReport([fitted(classes, "logistic", 0.5, weights=(0.25, 1.0))]),
        "weighted hinge": PrivacyReport([fitted(classes, "huber_hinge", 0.5, weights=(1.0, 0.125))]),
        "session": PrivacyReport(
            [pure, fitted(classes, "logistic", 0.5), pure],
            more=True,
            ceiling=WorstCase(dp.losses.gaussian(0.6), "the budget", 0.1),
        ),
    }


def categories() -> PrivacyReport:
    """With a column of categories between two of numbers; in a golden file of its own, since it came later."""
    fields = Fields(
        ("age", "\"sex\" = 'f'", "\"sex\" = 'm'", "school"),
        "target",
        Labels("classes", ("no", "yes")),
        0.9,
        False,
        0.3,
        ((18.0, 90.0), (-1.0, 1.0), (-1.0, 1.0), (0.0, 22.0)),
        (("age", None), ("sex", ("f", "m")), ("school", None)),
    )
    theta = (0.8, -1.3, 0.25, 0.1, 0.4)
    numbers = (4.0, 2.5, 3.8, 11.7, 1e-8, 3e-7, 1e-14)
    return PrivacyReport([PerturbedObjective(fields, Slope("logistic", 0.5), theta, "gaussian", *numbers)])


def records(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Some within the bounds, some beyond, some on the border."""
    rng = np.random.default_rng(seed)
    columns = {
        name: rng.uniform(low - 5, high + 5, count) for name, (low, high) in zip(NAMES, BOUNDS, strict=True)
    }
    return {
        name: np.where(rng.random(count) < 0.1, np.round(values), values) for name, values in columns.items()
    }


def targets(name: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(len(name))
    if name in ("huber", "statistics"):
        return rng.uniform(-4, 6, count)
    if name == "poisson":
        return rng.integers(0, 12, count).astype(float)
    return np.array([0, 1.5] if name == "hinge" else ["no", "yes"], dtype=object)[rng.integers(0, 2, count)]
