"""Private linear classifiers with scikit-learn's manners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from dalenius.calculus.pairs.pair import Reals
from dalenius.errors import InvalidParameter
from dalenius.learn.data.class_weights import ClassWeight, relative_weights
from dalenius.learn.data.parameters import moderate
from dalenius.learn.data.rows import RecordBlocks, Records, labels_of, same, training
from dalenius.learn.models.linear_model import LinearModel, PlannedModel
from dalenius.sums.curves import Curve, HuberHinge, Logistic, Weighted


@dataclass(eq=False, repr=False, kw_only=True)
class Binary(ClassifierMixin, PlannedModel):  # type: ignore[misc]
    """A classifier of two declared labels."""

    classes: Sequence[Any] = (0, 1)
    class_weight: ClassWeight = None

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and labels y; the cost is `loss_`, whatever the data."""
        features = training(self, X)
        return self._fit_records(self._prepared(features, y), features.shape[1])

    def _prepared(self, features: Reals, y: Any) -> Records:
        classes = self.check_classes()
        text = [isinstance(label, str) for label in classes.tolist()]
        labels = labels_of(y, len(features), numeric=None if any(text) != all(text) else not any(text))
        positive, negative = same(labels, classes[1]), same(labels, classes[0])
        return self._records(features, positive.astype(float), positive | negative)

    def _fit_records(self, data: Records | RecordBlocks, columns: int) -> Any:
        weights, intercept = self._split(self._fitted(data, columns))
        self.coef_, self.intercept_ = weights[None, :], np.array([intercept])
        self.classes_ = self.check_classes()
        return self

    def check_classes(self) -> Any:
        """The classes, if they are two labels."""
        classes = np.asarray(self.classes)
        if classes.shape != (2,) or classes[0] == classes[1]:
            raise InvalidParameter(
                f"classes is {self.classes!r}; name the two possible labels, the second one being the positive: they "
                "are public and must not be read off the data. More than two are for dp.learn.MultinomialRegression "
                "and dp.learn.OneVsRest."
            )
        return classes

    def _weighted(self, curve: Curve) -> Curve:
        """The curve, times the weights of the classes where they have any."""
        self.check_classes()
        weights = relative_weights(self.class_weight, list(self.classes))
        return curve if weights is None else Weighted(curve, weights)

    def decision_function(self, X: Any) -> Reals:
        """x.coef + intercept: positive for the second class."""
        return self._scores(X)

    def predict(self, X: Any) -> Any:
        """The likelier class of every row."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticRegression(Binary, LinearModel):
    """Logistic regression by objective perturbation: Gaussian noise in the objective, add/remove neighbours.

    Every row is scaled down to norm `row_norm` at most (`rows="normalize"`: to exactly that), a constant column
    `intercept_scale * row_norm` is added, and sum log-loss + (ridge/2)|theta|^2 + b.theta is minimised. Noise and ridge
    follow from the guarantee alone; rows that hold NaN or a label outside `classes` count as absent. The released
    model is (coef_, intercept_); its cost is `loss_`, which composes with any other.

    The slope of one record's log-loss is clipped to `knee` (Song et al. 2020): 1/2 instead of 1 halves the noise, and
    only records on the wrong side of the border feel it. `predict_proba` allows for it.

    With `class_weight` the loss of a record is multiplied by the weight of its class over the largest weight: slopes
    and bends are below the same bounds, and noise and ridge stay what they are.

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
    noise_ratio
        The noise in the objective, in units of what the Gaussian mechanism needs: more noise needs less ridge.
    method
        'auto', 'objective', 'kifer', 'descent' or 'output', or a `Descent`.
    classes
        The two labels, the positive one second; public.
    class_weight
        For each class what a row of it counts for, such as {0: 1, 1: 3}; public, and never read off the data. Only
        ratios matter; a class that is not named has 1. Rows of the heaviest class are those that noise is for.
    knee
        The largest slope of one record's loss.

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
    >>> X = rng.normal(size=(5000, 3)); y = (X[:, 0] > 0).astype(int)
    >>> clf = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5), row_norm=3.0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.9), bool(clf.loss_.epsilon(1e-5) <= 1.0)
    (True, True)
    """

    knee: float = 0.5

    def _curve(self) -> Curve:
        return self._weighted(Logistic(self.knee))

    def predict_proba(self, X: Any) -> Reals:
        """Probabilities of both classes; with class weights, those among rows that are as many as they weigh."""
        positive = Logistic(self.knee).probability(self.decision_function(X))
        return np.column_stack((1 - positive, positive))


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSVC(Binary, LinearModel):
    """A linear support vector machine (hinge with a rounded corner) by objective perturbation.

    As `LogisticRegression`, with the Huber hinge of Chaudhuri, Monteleoni and Sarwate 2011 in place of the log-loss.

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
    noise_ratio
        The noise in the objective, in units of what the Gaussian mechanism needs: more noise needs less ridge.
    method
        'auto', 'objective', 'kifer', 'descent' or 'output', or a `Descent`.
    classes
        The two labels, the positive one second; public.
    class_weight
        For each class what a row of it counts for, such as {0: 1, 1: 3}; public, and never read off the data. Only
        ratios matter; a class that is not named has 1. Rows of the heaviest class are those that noise is for.
    width
        How far the corner of the hinge is rounded.

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
    >>> X = np.random.default_rng(0).normal(size=(5000, 3)); y = (X[:, 0] > 0).astype(int)
    >>> svc = dp.learn.LinearSVC(dp.ApproxDP(1.0, 1e-5), row_norm=3.0).fit(X, y)
    >>> bool(svc.score(X, y) > 0.9)
    True
    """

    width: float = 0.5

    def _curve(self) -> Curve:
        return self._weighted(HuberHinge(moderate("width", self.width)))
