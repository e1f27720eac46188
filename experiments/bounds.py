"""Figure 4.1 of the thesis: what four bounds say of objective perturbation, and ours."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import dalenius as dp
from experiments.tables import table

SETTINGS = ((5.0, 1.0, 20.0), (10.0, 1.0, 5.0))


def kifer(sigma: float, smoothness: float, ridge: float, epsilon: float) -> float:
    """delta of Kifer et al. 2012 (thesis Theorem 4.2.8) at this epsilon, G = 1."""
    if epsilon < 2 * smoothness / ridge:
        return 1.0
    return min(1.0, 2 * math.exp(-((sigma * epsilon) ** 2 - 4 * epsilon) / 8))


def curves(sigma: float, smoothness: float, ridge: float, epsilons: np.ndarray) -> dict[str, list[float]]:
    thesis = dp.losses.objective_perturbation(sigma, ridge, 1.0, smoothness)
    sharp = dp.losses.objective_perturbation(sigma, ridge, 1.0, smoothness, bound="sharp")
    renyi = dp.losses.rdp(thesis.renyi)
    floor = dp.losses.gaussian(sigma)
    return {
        "Kifer et al. 2012": [kifer(sigma, smoothness, ridge, e) for e in epsilons],
        "thesis, Renyi": [renyi.delta(float(e)) for e in epsilons],
        "thesis, hockey-stick": [thesis.delta(float(e)) for e in epsilons],
        "dalenius (sharp)": [sharp.delta(float(e)) for e in epsilons],
        "Gaussian: no less is possible": [floor.delta(float(e)) for e in epsilons],
    }


def at(deltas: list[float], epsilons: np.ndarray, delta: float) -> float:
    """The first epsilon of the grid at which the curve is below delta."""
    return float(epsilons[np.argmax(np.asarray(deltas) <= delta)])


def run(picture: Path) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    rows = []
    for axis, (sigma, smoothness, ridge) in zip(figure.subplots(1, 2), SETTINGS, strict=True):
        epsilons = np.linspace(0.0, 2.4 if ridge > 10 else 1.4, 241)
        found = curves(sigma, smoothness, ridge, epsilons)
        for label, deltas in found.items():
            axis.semilogy(epsilons, np.maximum(deltas, 1e-12), label=label)
        axis.set(xlabel="epsilon", ylabel="delta", ylim=(1e-9, 1.2))
        axis.set_title(f"sigma {sigma:g}, smoothness {smoothness:g}, ridge {ridge:g}")
        axis.legend(fontsize=8)
        rows.append(
            [
                f"{sigma:g}, {smoothness:g}, {ridge:g}",
                *(f"{at(d, epsilons, 1e-5):.2f}" for d in found.values()),
            ]
        )
    figure.savefig(picture, dpi=130)
    return table(["sigma, smoothness, ridge", *found], rows)
