"""Reports that look at the data once more: the Hessian, and the gradient, released with noise at the minimiser.

What they say of the loss of the *model* is sharper (Redberg 2023, Algorithms 2 and 9, corrected). Given the released
gradient w = -b + N(0, s^2 I), the noise b in the objective is N(-k w, t^2 I) with k = sigma^2/(sigma^2 + s^2) and
1/t^2 = 1/sigma^2 + 1/s^2, whatever the data: b + k w is a normal vector of size t that does not depend on w. So b.x
lies within t z |x| of -k w.x, which is less than either of the two branches printed, and the sign of w.x is used
instead of thrown away.

The release of the gradient costs something itself, though, and the loss of the two together is exactly that of one
look at b with noise t: the sharper bound on the model never pays for itself. `everything` says what all of it cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.adaptive.personal.curvature import Curvature
from dalenius.adaptive.personal.perturbed_objective import CURVATURE, SOLVER, PerturbedObjective
from dalenius.adaptive.personal.release import Release, Statement, padded, reached
from dalenius.adaptive.personal.report import PrivacyReport, _is_single, _statement
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.errors import InvalidParameter
from dalenius.mechanisms import AnalyzeGauss, Gaussian


@dataclass(frozen=True)
class DataDependentReport:
    """A sharper bound on what a model cost one person, bought with further releases about the same data.

    Made by `DataDependentReport.released`; adaptive in the sense of Redberg 2023, Algorithm 9: it is valid for every
    ridge.

    Parameters
    ----------
    release
        The fit, and what else was released of it.
    gradient
        The released gradient; None where it was not.
    loss
        What the further releases cost, whatever the data.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2)); y = (X[:, 0] + 3 * rng.normal(size=5000) > 0).astype(int)
    >>> model = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6), intercept_scale=0, noise_ratio=3).fit(X, y)
    >>> free = model.privacy_report_
    >>> p = model.predict_proba(X)[:, 1]  # the Hessian at the minimiser, ridge included
    >>> rows = X / np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    >>> H = (rows * (p * (1 - p))[:, None]).T @ rows + model.plan_.ridge * np.eye(2)
    >>> sharper = dp.adaptive.DataDependentReport.released(free, H, dp.ApproxDP(0.1, 1e-6))
    >>> bool(np.mean(sharper.epsilon(X, y)) < np.mean(free.epsilon(X, y)))
    True
    """

    release: PerturbedObjective
    gradient: tuple[float, ...] | None
    loss: Loss

    @classmethod
    def released(
        cls,
        report: PrivacyReport,
        hessian: Any,
        promise: Any,
        *,
        gradient: Any = None,
        gradient_promise: Any = None,
    ) -> DataDependentReport:
        """Release the Hessian, and the gradient if one is given, each under a promise of its own.

        Parameters
        ----------
        report
            The `privacy_report_` of a fit by objective perturbation with Gaussian noise.
        hessian
            That of the objective at the minimiser, ridge included. Where the minimiser is known up to output noise
            only: a matrix that is not above it, with the least bend of every record nearby. Private.
        promise
            What the release of the Hessian keeps.
        gradient
            That of the objective without its noise at the minimiser, -b. Private.
        gradient_promise
            What the release of the gradient keeps.

        Returns
        -------
        DataDependentReport
            The report; made of released numbers only.

        Raises
        ------
        InvalidParameter
            If the report is not of one such fit.
        """
        fits: tuple[Release, ...] = getattr(report, "releases", ())
        fit = fits[0] if len(fits) == 1 else None
        if not isinstance(fit, PerturbedObjective) or fit.noise != "gaussian" or not _alone(report, fit):
            raise InvalidParameter(
                "only the report of one fit by objective perturbation with Gaussian noise can be sharpened."
            )
        bend = AnalyzeGauss.calibrated(promise, sensitivity=fit.smoothness)
        found = replace(fit, curvature=Curvature.of(bend.release(hessian), bend.sigma))
        if gradient is None:
            return cls(found, None, bend.loss)
        slope = Gaussian.calibrated(gradient_promise, sensitivity=fit.gradient_bound)
        values = tuple(np.asarray(slope.release(gradient), dtype=float).tolist())
        return cls(replace(found, gradient_sigma=slope.sigma), values, bend.loss + slope.loss)

    @property
    def everything(self) -> PrivacyReport:
        """What the model and the further releases cost together."""
        return PrivacyReport([self.release])

    def epsilon(
        self, x: Any, y: Any = None, *, failure: float = 1e-6, people: float = 1, member: bool | None = None
    ) -> Any:
        """The most that the model alone cost the people with these records; as `PrivacyReport.epsilon`.

        Parameters
        ----------
        x
            A record, or a table with one in every row.
        y
            The label of each record, where x does not name it.
        failure
            The probability, over the noise, that the statement fails.
        people
            For how many people it holds at once: 1, any number, or infinity for everybody.
        member
            Whether the record was among the data; None where that shall not be told.

        Returns
        -------
        float or ndarray
            One number for a record, one for each row of a table.
        """
        rows, labels = self.release.fields.taken(x, y)
        found = self._bound(self._constants(_statement(failure, people)), rows, labels, member)
        return float(found[0]) if _is_single(x) else found

    def _constants(self, statement: Statement) -> dict[str, Any]:
        """Those of the release; the cost of releasing the Hessian is not asked for, so its event is not needed."""
        shares = 1 - CURVATURE - (2 * SOLVER if self.release.tolerance > 0 else 0.0)
        ball, box = statement.part(shares).directions(len(self.release.theta))
        return {**self.release.constants(statement), "ball": ball, "box": box}

    def _bound(self, constants: Mapping[str, Any], rows: Reals, labels: Reals, member: bool | None) -> Reals:
        fit, size = self.release, np.linalg.norm(rows, axis=1)
        low, high, bend = fit._slopes(constants, rows, labels)
        inside, outside, _ = fit._leverage(constants, rows, bend)
        squares = np.square(size) * fit.rows**2 / (2 * fit.scale**2)
        # b.x/sigma^2 lies between -centre - away and -centre + away.
        away = fit.rows * fit.precision * reached(rows, constants["ball"], constants["box"]) / fit.scale**2
        centre = np.zeros(len(rows))
        if self.gradient is not None:
            weight = fit.rows / fit.scale**2 * (fit.precision / (fit.gradient_sigma or 1.0)) ** 2
            centre = weight * (rows @ np.array(self.gradient))
        least = np.where(low * high > 0, np.minimum(low**2, high**2), 0.0) * squares
        # Each is largest at one end of the slopes nearby: f' times a number, |f'| times one, and f'^2 times one.
        for_it, against, for_plain, against_plain = (
            np.maximum(*(sign * f * centre + np.abs(f) * away + square * f**2 * squares for f in (low, high)))
            for sign, square in ((-1, 1), (1, 1), (-1, 0), (1, 0))
        )
        present = np.maximum(for_it + inside, against_plain - least)
        absent = np.maximum(against, for_plain - least + outside)
        found = present if member else absent if member is False else np.maximum(present, absent)
        return np.asarray(padded(np.maximum(found, 0.0) + constants["extra"]))


def _alone(report: PrivacyReport, fit: PerturbedObjective) -> bool:
    """Whether it is a fit to one row of each person, as given: not a session's, whose account pays for everything."""
    return report.ceiling is None and fit.rows == 1 and not fit.row_rounding
