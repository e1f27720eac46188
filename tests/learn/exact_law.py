"""What one record gives away of a fit with a single coefficient, from the law of the coefficient and nothing else.

The noise in the objective is one number z, of a known law, and the coefficient falls with it. So the fit is run for
many z, on both data sets: the probability that the coefficient lies in a cell is that z does. Cells tell less than the
coefficient itself, so what is found here is a lower bound, and nearly the truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import interp1d
from scipy.stats import laplace, norm

from dalenius.learn.methods import objective_perturbation, pure_objective_perturbation

CELLS = 80
Data = tuple[np.ndarray, np.ndarray]


def masses(
    fit: Callable[[Data], float], pair: tuple[Data, Data], pure: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of cells of the coefficient, for each of two data sets."""
    law: Any = laplace if pure else norm
    z = law.ppf(np.linspace(0, 1, CELLS + 1)[1:-1])
    z = np.concatenate((z[0] + np.arange(-10, 0) * 0.5, z, z[-1] + np.arange(1, 11) * 0.5))
    with pytest.MonkeyPatch.context() as patch:

        def at(value: float, data: Data) -> float:
            drawn = np.array([value])
            patch.setattr(objective_perturbation, "gaussian", lambda *_, **__: drawn)
            patch.setattr(pure_objective_perturbation, "norm_noise", lambda *_, **__: drawn)
            return fit(data)

        found = [np.array([at(value, data) for value in z]) for data in pair]
    signs = [np.sign(theta[-1] - theta[0]) for theta in found]
    assert signs[0] == signs[1]
    first, second = (sign * theta for sign, theta in zip(signs, found, strict=True))
    assert (np.diff(first) > 0).all()
    assert (np.diff(second) > 0).all()
    # Far out the objective is its ridge and a straight line, and so is this.
    ends = [law.cdf(z), law.cdf(interp1d(second, z, fill_value="extrapolate")(first))]
    one, other = (np.diff(np.concatenate(([0.0], end, [1.0]))) for end in ends)
    return one, other


def delta(fit: Callable[[Data], float], pair: tuple[Data, Data], epsilon: float, pure: bool = False) -> float:
    """How far the laws are from epsilon-DP, either way."""
    one, other = masses(fit, pair, pure)
    return float(max(np.maximum(p - np.exp(epsilon) * q, 0).sum() for p, q in ((one, other), (other, one))))
