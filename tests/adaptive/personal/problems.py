"""Small perturbed objectives with everything known: what reports are checked against."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from dalenius.adaptive import PrivacyReport, glm_losses
from dalenius.adaptive.personal.perturbed_objective import PerturbedObjective
from dalenius.adaptive.personal.record import Fields, Labels
from dalenius.adaptive.personal.slopes import Slope


@dataclass(frozen=True)
class Problem:
    """Logistic regression of rows of norm 1 at most, with noise `sigma` in the objective; solved exactly."""

    x: np.ndarray
    y: np.ndarray
    sigma: float
    ridge: float

    @classmethod
    def made_up(cls, n: int, d: int, sigma: float, ridge: float, seed: int = 0) -> Problem:
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, d))
        x /= np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
        return cls(x, (x[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(float), sigma, ridge)

    @property
    def size(self) -> int:
        return self.x.shape[1]

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        return self.x.T @ (expit(self.x @ theta) - self.y) + self.ridge * theta

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        p = expit(self.x @ theta)
        return (self.x * (p * (1 - p))[:, None]).T @ self.x + self.ridge * np.eye(self.size)

    def minimum(self, b: np.ndarray) -> np.ndarray:
        """Newton's method with halved steps, to rounding."""
        theta = np.zeros(self.size)

        def value(t: np.ndarray) -> float:
            u = self.x @ t
            return float(np.logaddexp(0, u).sum() - self.y @ u + self.ridge / 2 * t @ t + b @ t)

        for _ in range(100):
            slope = self.gradient(theta) + b
            if np.abs(slope).max() < 1e-11 * (1 + self.sigma):
                break
            step, share = np.linalg.solve(self.hessian(theta), slope), 1.0
            here = value(theta)
            while share > 1e-8 and value(theta - share * step) > here + 1e-12 * abs(
                here
            ):  # more than rounding
                share /= 2
            theta = theta - share * step
        return theta

    def losses(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray, *, member: bool) -> np.ndarray:
        """The true losses, in absolute value."""
        p = expit(x @ theta)
        found = glm_losses(
            x, p - y, p * (1 - p), self.hessian(theta), self.gradient(theta), self.sigma, member=member
        )
        return np.abs(found)

    def report(self, theta: np.ndarray, **more: object) -> PrivacyReport:
        fields = Fields(
            tuple(f"x{n}" for n in range(self.size)), "y", Labels("classes", (0, 1)), 1.0, False, 0.0
        )
        known = (Slope("logistic", 1.0), tuple(theta.tolist()), "gaussian", self.sigma, self.ridge, 1.0, 0.25)
        release = PerturbedObjective(fields, *known)
        return PrivacyReport([replace(release, **more)])
