"""Private linear classifiers of any number of classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.errors import InvalidParameter
from dalenius.learn.data.class_weights import ClassWeight, relative_weights
from dalenius.learn.data.parameters import checked_guarantee, checked_ratio
from dalenius.learn.data.rows import (
    RecordBlocks,
    Records,
    factors,
    labels_of,
    matrix,
    products,
    same,
    training,
)
from dalenius.learn.methods.objective_perturbation import ObjectivePerturbation
from dalenius.learn.methods.plan import Method, checked_method
from dalenius.learn.methods.pure_objective_perturbation import PureObjectivePerturbation
from dalenius.learn.methods.several_classes import AllAtOnce, OneByOne, all_at_once, one_by_one
from dalenius.learn.models.row_model import RowModel
from dalenius.learn.numerics.links import Multinomial
from dalenius.sums.curves import Logistic, Weighted


@dataclass(eq=False, repr=False, kw_only=True)
class SeveralClasses(ClassifierMixin, RowModel):  # type: ignore[misc]
    """A classifier of declared labels, two or more, with coefficients for each."""

    noise_ratio: float = 1.2
    classes: Sequence[Any] = (0, 1, 2)
    class_weight: ClassWeight = None
    knee: float = 0.5

    @abstractmethod
    def _plan(self) -> AllAtOnce | OneByOne: ...

    @abstractmethod
    def _theta(self, records: Records | RecordBlocks) -> Reals:
        """Coefficients, classes x columns, the constant last."""

    def price(self) -> Loss:
        """What a fit will cost, whatever the data: `loss_` before it has happened."""
        return self._plan().loss

    def check_classes(self) -> Any:
        """The classes, if they are different labels of one kind."""
        named: Any = self.classes
        given = list(named) if isinstance(named, Sequence | np.ndarray) else []
        classes = np.asarray(given)
        texts = sum(isinstance(label, str) for label in given)
        apart = all(a != b for n, a in enumerate(classes.tolist()) for b in classes.tolist()[:n])
        if classes.ndim != 1 or len(given) < 2 or texts not in (0, len(given)) or not apart:
            raise InvalidParameter(
                f"classes is {self.classes!r}; name the possible labels, all text or all numbers: they are public and "
                "must not be read off the data."
            )
        return classes

    def _weights(self) -> tuple[float, ...]:
        """What a row of each class counts for, 1 at most."""
        count = len(self.check_classes())
        return relative_weights(self.class_weight, list(self.classes)) or (1.0,) * count

    def fit(self, X: Any, y: Any) -> Any:
        """Fit on records X (n x d) and labels y; the cost is `loss_`, whatever the data."""
        features = training(self, X)
        return self._fit_records(self._prepared(features, y), features.shape[1])

    def takes_blocks(self) -> bool:
        return isinstance(self._plan().inner, ObjectivePerturbation | PureObjectivePerturbation)

    def _prepared(self, features: Reals, y: Any) -> Records:
        classes = self.check_classes()
        labels = labels_of(y, len(features), numeric=classes.dtype.kind != "U")
        codes = np.full(len(features), -1.0)
        for number, label in enumerate(classes):
            codes[same(labels, label)] = number
        return self._records(features, codes, codes >= 0)

    def _fit_records(self, data: Records | RecordBlocks, columns: int) -> Any:
        plan, theta, constant = self._plan(), self._theta(data), self._constant
        self.coef_ = theta[:, :-1] if constant else theta
        self.intercept_ = theta[:, -1] * constant if constant else np.zeros(len(theta))
        self.loss_, self.plan_, self.classes_ = plan.loss, plan, self.check_classes()
        self.n_features_in_ = columns
        return self

    def decision_function(self, X: Any) -> Reals:
        """x.coef + intercept for every class: the largest is the likeliest. For two classes, the second less the first.

        A row is brought to its norm as in the fit.
        """
        scores = self._class_scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The likeliest class of every row."""
        likeliest = self._class_scores(X).argmax(axis=1)
        return self.classes_[likeliest]

    def _class_scores(self, X: Any) -> Reals:
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        x = matrix(X, self.n_features_in_, type(self).__name__)
        if not np.isfinite(x).all():
            raise InvalidParameter(
                "X holds NaN or infinity; a prediction needs finite numbers in every column."
            )
        scale = factors(x, self.row_norm, self.rows)
        return np.asarray(products(x * scale[:, None], self.coef_.T) + self.intercept_)


@dataclass(eq=False, repr=False, kw_only=True)
class MultinomialRegression(SeveralClasses):
    """Multinomial logistic regression by objective perturbation, all classes in one objective that is paid once.

    As `LogisticRegression` for any number K of classes: sum -log p_y + (ridge/2)|Theta|^2 + b.Theta is minimised, with
    noise b for all coefficients together, and each record's slope clipped where p_y < 1 - `knee`. A record can pull
    in K - 1 directions; what that costs is proved in docs/proofs/multinomial-perturbation.md. Add/remove neighbours.

    Parameters
    ----------
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`; not GDP.
    row_norm
        Rows are brought to this Euclidean norm at most; public.
    rows
        'clip' shortens long rows; 'normalize' brings all to the norm.
    intercept_scale
        The constant column, in units of `row_norm`; 0 for no intercept.
    noise_ratio
        The noise in the objective, in units of what the Gaussian mechanism needs, times the cube root of K - 1: more
        noise needs less ridge.
    classes
        The labels, two or more; public.
    class_weight
        For each class what a row of it counts for, such as {0: 1, 1: 3}; public, and never read off the data. Only
        ratios matter; a class that is not named has 1. Rows of the heaviest class are those that noise is for.
    knee
        The largest 1 - p_y that still counts in full, from 1/2 to 1; 1 clips nothing.

    Attributes
    ----------
    coef_
        The coefficients, a row for every class; each column sums to 0.
    intercept_
        The intercepts.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.
    CannotMeet
        By `fit`, if the promise cannot be kept.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2)) / 2; y = np.where(X[:, 0] > 0.3, 2, X[:, 1] > 0)
    >>> clf = dp.learn.MultinomialRegression(dp.ApproxDP(2.0, 1e-5), classes=(0, 1, 2)).fit(X, y)
    >>> bool(clf.score(X, y) > 0.85), bool(clf.loss_.epsilon(1e-5) <= 2.0)
    (True, True)
    """

    def _link(self) -> Multinomial:
        return Multinomial(len(self.check_classes()), self.knee, self._weights())

    def _plan(self) -> AllAtOnce:
        promise, ratio = checked_guarantee(self.guarantee), checked_ratio(self.noise_ratio)
        return all_at_once(promise, self._link(), self._square, ratio)

    def _theta(self, records: Records | RecordBlocks) -> Reals:
        return self._plan().fit(records, self._link())

    def predict_proba(self, X: Any) -> Reals:
        """Probabilities of all classes; with class weights, those among rows that are as many as they weigh."""
        link = self._link()
        return link.probabilities(self._class_scores(X))


@dataclass(eq=False, repr=False, kw_only=True)
class OneVsRest(SeveralClasses):
    """A logistic regression of every class against the rest, all of them paid by one promise. Add/remove neighbours.

    Each is `LogisticRegression`, with noise of its own, and their losses are added with all their digits: K of them
    need sqrt(K) times the noise of one. Their own coefficients are shorter than those of `MultinomialRegression` where
    classes overlap, and any promise can be kept; where a class lies between others, no line tells it from the rest.

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
    classes
        The labels, two or more; public.
    class_weight
        For each class what a row of it counts for, such as {0: 1, 1: 3}; public, and never read off the data. Only
        ratios matter; a class that is not named has 1. Rows of the heaviest class are those that noise is for.
    knee
        The largest slope of one record's loss.
    method
        'auto', 'objective' or 'descent'.

    Attributes
    ----------
    coef_
        The coefficients, a row for every class.
    intercept_
        The intercepts.
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
    >>> X = rng.normal(size=(6000, 2)) / 2; y = np.where(X[:, 0] > 0.3, "c", np.where(X[:, 1] > 0, "b", "a"))
    >>> clf = dp.learn.OneVsRest(dp.GDP(0.5), classes=("a", "b", "c")).fit(X, y)
    >>> bool(clf.score(X, y) > 0.8), dp.GDP(0.5).holds(clf.loss_)
    (True, True)
    """

    method: Method = "auto"

    def _curve(self) -> Logistic:
        return Logistic(self.knee)

    def _weighted(self) -> Weighted:
        return Weighted(self._curve(), self._weights())

    def _plan(self) -> OneByOne:
        promise, ratio = checked_guarantee(self.guarantee), checked_ratio(self.noise_ratio)
        return one_by_one(
            promise,
            self._weighted(),
            self._square,
            ratio,
            checked_method(self.method),
            len(self.check_classes()),
        )

    def _theta(self, records: Records | RecordBlocks) -> Reals:
        return self._plan().fit(records, self._weighted())

    def predict_proba(self, X: Any) -> Reals:
        """Probabilities of all classes: those of each against the rest, brought to a sum of 1."""
        each = self._curve().probability(self._class_scores(X))
        each[each.sum(axis=1) == 0] = 1.0  # where all of them are too small for a float
        return np.asarray(each / each.sum(axis=1, keepdims=True))
