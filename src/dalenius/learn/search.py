"""Tuning that is paid for: the best of a random number of private fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dalenius.calculus import checks
from dalenius.calculus.errors import CannotMeet, InvalidParameter
from dalenius.calculus.guarantees import ApproxDP, Guarantee, PureDP
from dalenius.calculus.loss import Loss
from dalenius.learn.linear_model import checked_guarantee
from dalenius.learn.rows import matrix, one_each, same
from dalenius.learn.tries import GeometricTries, PoissonTries, Tries
from dalenius.mechanisms import Gaussian, Laplace
from dalenius.noise import uniform_integers

PARTS = 1 << 20
"""Scores of single records are rounded down to this many parts of 1, so that their sum is exact."""

Scoring = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class _Trial:
    """What one fit and its score may cost."""

    fit: Guarantee
    score: Gaussian | Laplace | None


class PrivateSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fits `estimator` with random candidates, a random number of times, and keeps the best; one loss for all of it.

    Each trial draws a candidate (a dict of parameters) uniformly, fits it with its share of the budget, and scores
    it: on `validation`, a public pair (X, y), for free; without one on the private records themselves, by the sum
    over records of a score in [0, 1] (right or not for classifiers, 1 - |error|/spread for regressors, or
    `scoring(model, X, y)`) plus noise, `score_share` of a trial's epsilon. Released: the best model, its parameters
    and its (noisy) score. The number of trials and the others are forgotten. `loss_` is `tries.loss(trial)`: Liu
    and Talwar 2019 for PureDP (geometric numbers of trials), Papernot and Steinke 2022 otherwise (Poisson). If
    there was no trial at all, the model fitted to no records is returned.

    The trial's budget is the largest with which the whole keeps `guarantee`.

    >>> import numpy as np, dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 3)); y = (X[:, 0] > 0).astype(int)
    >>> search = dp.learn.PrivateSearch(
    ...     dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6)),
    ...     [{"row_norm": 1.0}, {"row_norm": 3.0}], dp.ApproxDP(4.0, 1e-5), tries=dp.learn.PoissonTries(5.0))
    >>> _ = search.fit(X, y)
    >>> bool(search.loss_.epsilon(1e-5) <= 4.0), search.best_params_ in search.candidates
    (True, True)
    """

    def __init__(
        self,
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]],
        guarantee: Guarantee,
        *,
        tries: Tries | None = None,
        validation: tuple[Any, Any] | None = None,
        scoring: Scoring | None = None,
        score_share: float = 0.1,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.guarantee = guarantee
        self.tries = tries
        self.validation = validation
        self.scoring = scoring
        self.score_share = score_share

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        trial, tries = self._trial()
        return tries.loss(self._cost(trial))

    def fit(self, X: Any, y: Any) -> Any:
        """Search on records X and labels y."""
        trial, tries = self._trial()
        loss = tries.loss(self._cost(trial))
        features = matrix(X)
        labels = one_each(y, len(features))
        best: tuple[float, Any, Mapping[str, Any]] | None = None
        for _ in range(tries.draw()):
            params = self.candidates[int(uniform_integers(0, len(self.candidates)))]
            model = clone(self.estimator).set_params(**params, guarantee=trial.fit).fit(features, labels)
            value = self._score(model, features, labels, trial.score)
            if best is None or value > best[0]:
                best = value, model, params
        if best is None:
            params = self.candidates[0]
            model = (
                clone(self.estimator).set_params(**params, guarantee=trial.fit).fit(features[:0], labels[:0])
            )
            best = float("-inf"), model, params
        self.best_score_, self.best_estimator_, self.best_params_ = best
        self.best_estimator_.loss_ = self.loss_ = loss
        self.n_features_in_ = features.shape[1]
        if hasattr(self.best_estimator_, "classes_"):
            self.classes_ = self.best_estimator_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """What the best model predicts."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """The best model's probabilities."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict_proba(X)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """The best model's scores of rows."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """How good the best model is on other records; nothing about these is private."""
        check_is_fitted(self, "best_estimator_")
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    def _score(self, model: Any, x: Any, y: Any, noise: Gaussian | Laplace | None) -> float:
        if noise is None:
            assert self.validation is not None
            return float(np.mean(self._each(model, *self.validation)))
        usable = np.isfinite(x).all(axis=1)
        x, y = x[usable], y[usable]
        if not len(x):
            return float(noise.release(0))
        each = np.asarray(self._each(model, x, y), dtype=np.float64)
        if each.shape != (len(x),):
            raise InvalidParameter("scoring must return one number for each record, between 0 and 1.")
        parts = np.floor(np.clip(np.nan_to_num(each, nan=0.0), 0.0, 1.0) * PARTS)
        return float(noise.release(int(parts.astype(np.int64).sum())) / PARTS)

    def _each(self, model: Any, x: Any, y: Any) -> Any:
        if self.scoring is not None:
            return self.scoring(model, x, y)
        if is_classifier(model):
            told = model.predict(x)
            return sum((told == label) & same(np.asarray(y), label) for label in model.classes_)
        from dalenius.learn.targets import Targets, numbers

        targets = Targets(getattr(model, "target_bounds", (0.0, getattr(model, "most", 1.0))))
        return 1 - np.abs(model.predict(x) - numbers(y, len(x))) / (2 * targets.spread)

    def _trial(self) -> tuple[_Trial, Tries]:
        promise = checked_guarantee(self.guarantee)
        share = checks.number("score_share", self.score_share)
        if not self.candidates:
            raise InvalidParameter("candidates is empty; list at least one dict of parameters.")
        if not 0 < share < 1:
            raise InvalidParameter(f"score_share is {share}; it must be above 0 and below 1.")
        pure = isinstance(promise, PureDP)
        tries = self.tries if self.tries is not None else (GeometricTries() if pure else PoissonTries())
        slack = promise.delta / 10 if isinstance(promise, ApproxDP) else 1e-6

        def trial(epsilon: float) -> _Trial:
            fit = PureDP(epsilon) if pure else ApproxDP(epsilon, slack)
            if self.validation is not None:
                return _Trial(fit, None)
            kind: Any = Laplace if pure else Gaussian
            part = PureDP(epsilon * share) if pure else ApproxDP(epsilon * share, slack)
            return _Trial(fit, kind.calibrated(part, sensitivity=float(PARTS)))

        start = promise.epsilon / 4 if isinstance(promise, ApproxDP | PureDP) and promise.epsilon > 0 else 0.1
        return trial(
            _largest(lambda e: promise.holds(tries.loss(self._cost(trial(e)))), start, promise)
        ), tries

    def _cost(self, trial: _Trial) -> Loss:
        """The loss of the dearest candidate's trial; all candidates must have the same."""
        prices = {clone(self.estimator).set_params(**c, guarantee=trial.fit).price() for c in self.candidates}
        fit = prices.pop() if len(prices) == 1 else _worst(frozenset(prices))
        return fit if trial.score is None else fit + trial.score.loss


def _largest(kept: Callable[[float], bool], start: float, promise: Guarantee) -> float:
    """The largest epsilon, to a hundredth, at which the promise is kept; each question takes a while."""
    good, bad = 0.0, start
    while kept(bad):
        good, bad = bad, 2 * bad
    while good == 0.0:
        if bad < 1e-6 * start:
            raise CannotMeet(f"no budget of a trial is small enough to keep {promise}; try fewer times.")
        bad, good = (bad, bad / 2) if kept(bad / 2) else (bad / 2, 0.0)
    while bad > 1.01 * good:
        middle = (good + bad) / 2
        good, bad = (middle, bad) if kept(middle) else (good, middle)
    return good


@lru_cache(maxsize=128)
def _worst(prices: frozenset[Loss]) -> Loss:
    """A loss that bounds all of them: Renyi divergences by their maxima, or the largest epsilon if all are pure."""
    from dalenius.calculus import losses

    pure = max(p.epsilon(0.0) for p in prices)
    if np.isfinite(pure):
        return losses.pure(pure)
    return losses.rdp(_Largest(tuple(prices)))


@dataclass(frozen=True)
class _Largest:
    prices: tuple[Loss, ...]

    def __call__(self, order: float) -> float:
        return max(p.renyi(order) for p in self.prices)
