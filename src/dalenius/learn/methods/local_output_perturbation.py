"""Output perturbation with noise for the curvature that the data have, fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.adaptive.ptr.calibrated_release import CalibratedRelease
from dalenius.adaptive.regression.local_output_perturbation import TOLERANCE, Minimum
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.rows import Records
from dalenius.learn.methods.objective_perturbation import close_minimum
from dalenius.learn.numerics.minimise import Objective
from dalenius.sums.curves import Curve


@dataclass(frozen=True)
class LocalOutputPerturbation:
    """Minimises and measures the curvature; `release` adds the noise."""

    release: CalibratedRelease
    ridge: float
    gradient_bound: float

    @property
    def loss(self) -> Loss:
        return self.release.loss

    def fit(self, records: Records, curve: Curve) -> Reals:
        """theta, noise included."""
        objective = Objective(records, curve, self.ridge, np.zeros(records.size))
        theta = close_minimum(objective, TOLERANCE * self.gradient_bound)
        hessian = objective.hessian(objective.scores(theta))
        return np.asarray(self.release.release(Minimum(theta, float(np.linalg.eigvalsh(hessian)[0]))))
