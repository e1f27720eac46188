"""Logistic regression with noise for the curvature that the data have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.adaptive.regression.local_output_perturbation import local_output_perturbation
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.learn.data.parameters import approximate
from dalenius.learn.methods.local_output_perturbation import LocalOutputPerturbation
from dalenius.learn.models.classifiers import Binary
from dalenius.sums.curves import Curve, Logistic


@dataclass(eq=False, repr=False, kw_only=True)
class LocalLogisticRegression(Binary):
    """Logistic regression by output perturbation, with as little noise as the data's curvature allows.

    Released: the ridge-regularised minimiser plus Gaussian noise for how far one record can move it, given a private
    lower bound on the least eigenvalue of the Hessian there (Redberg 2023, Example B.3.8, with smaller constants and
    noise of one scale: `dp.adaptive.local_output_perturbation`). Add/remove neighbours, ApproxDP only. Well determined
    data need a small ridge and get little noise; `LogisticRegression` is better on most others.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    row_norm
        Rows are brought to this Euclidean norm at most; public.
    rows
        'clip' shortens long rows; 'normalize' brings all to the norm.
    intercept_scale
        The constant column, in units of `row_norm`; 0 for no intercept.
    classes
        The two labels, the positive one second; public.
    class_weight
        For each class what a row of it counts for, such as {0: 1, 1: 3}; public, and never read off the data. Only
        ratios matter; a class that is not named has 1. Rows of the heaviest class are those that noise is for.
    ridge
        The ridge, in units of the square of `row_norm`; public.

    Attributes
    ----------
    coef_
        The coefficients.
    intercept_
        The intercept.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.
    CannotMeet
        By `fit`, if the method cannot keep the promise.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 3)); y = (X[:, 0] + rng.normal(size=5000) > 0).astype(int)
    >>> clf = dp.learn.LocalLogisticRegression(dp.ApproxDP(1.0, 1e-5), row_norm=3.0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.7), bool(clf.loss_.epsilon(1e-5) <= 1.0)
    (True, True)
    """

    ridge: float = 10.0

    def _curve(self) -> Curve:
        return self._weighted(Logistic(1.0))

    def _plan(self) -> LocalOutputPerturbation:
        reach, curve = math.hypot(self._norm, self._constant) * (1 + 1e-12), self._curve()
        ridge = checks.positive("ridge", self.ridge) * self._norm**2
        release = local_output_perturbation(
            approximate(self.guarantee, "noise for a curvature"),
            ridge=ridge,
            gradient_bound=curve.steepest * reach,
            smoothness=curve.sharpest * reach**2,
            concordance=reach,  # |f'''| |x| <= R f'' holds for f times any weight
        )
        return LocalOutputPerturbation(release, ridge, curve.steepest * reach)

    def predict_proba(self, X: Any) -> Reals:
        """Probabilities of both classes; with class weights, those among rows that are as many as they weigh."""
        positive = Logistic(1.0).probability(self.decision_function(X))
        return np.column_stack((1 - positive, positive))
