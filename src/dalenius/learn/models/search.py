"""Tuning that is paid for: the best of several private fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dalenius.adaptive.selection.trial_counts import FixedTries, GeometricTries, RandomTries, Tries
from dalenius.calculus.guarantees import ApproxDP, Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.core.bisection import change_point
from dalenius.errors import CannotMeet, InvalidParameter
from dalenius.learn.data.parameters import checked_guarantee
from dalenius.learn.data.refits import alone, pays_for_all
from dalenius.learn.data.rows import matrix, one_each, same
from dalenius.learn.data.targets import Targets, numbers
from dalenius.learn.models.in_notebooks import InNotebooks
from dalenius.learn.models.reported import Reported
from dalenius.mechanisms import Gaussian, Laplace
from dalenius.noise import uniform_integers

SCORE_UNITS = 1 << 20
"""Scores of single records are rounded down to this many parts of 1, so that their sum is exact."""

Scoring = Callable[[Any, Any], float]
"""From what the model tells of one record, and its label, to a number between 0 and 1."""


@dataclass(frozen=True)
class _Trial:
    """What one fit and its score may cost."""

    fit: Guarantee
    score: Gaussian | Laplace | None

    @classmethod
    def of(cls, promise: Guarantee, amount: float, share: float, public: bool) -> _Trial:
        """A trial that promises `amount` in the manner of the whole, and a share of it for the score."""
        fit = promise.of_size(amount)
        if public:
            return cls(fit, None)
        kind: type[Gaussian | Laplace] = Gaussian if fit.as_pure() is None else Laplace
        return cls(fit, kind.calibrated(fit.noisier(share), sensitivity=float(SCORE_UNITS)))


@dataclass(eq=False, repr=False)
class PrivateSearch(MetaEstimatorMixin, InNotebooks, Reported, BaseEstimator):  # type: ignore[misc]
    """Fits `estimator` with several candidates and keeps the best; one loss for all of it. Add/remove neighbours.

    Each trial takes a candidate (a dict of parameters), fits it with its share of the budget, and scores it: on
    `validation`, a public pair (X, y), for free; without one on the private records themselves, each of which gets a
    score s in [0, 1] (right or not for classifiers, 1 - |error|/spread for regressors, or `scoring(predicted, true)`,
    called with the prediction for one record and its label), by the sums of s and of 1 - s plus noise, for
    `score_share` of a trial's epsilon. One record moves the two by 1 together. Released: the best model, its
    parameters and `best_score_`, the (noisy) mean score. The others are forgotten.

    `tries` says how many trials there are. `FixedTries(k)`: the candidates in turn, at the cost of k trials; the
    default for one or two candidates, and for `ZCDP`, `GDP`, `RDP` and `TradeOff`, one trial for each candidate. Else a
    random number, which is kept secret, and each time a candidate at random: `GeometricTries(10)` is the default for
    PureDP (three times the epsilon of a trial, Liu and Talwar 2019) and ApproxDP (about one and a half times the mu of
    a trial, see `best_of`). If there was no trial at all, as can be with `PoissonTries`, the model fitted to no records
    is returned, and no score.

    The trial's budget is the largest with which the whole keeps `guarantee`.

    Parameters
    ----------
    estimator
        A model of this package.
    candidates
        Dicts of parameters to try.
    guarantee
        The promise that the whole search keeps.
    tries
        How many trials there are; see above for None.
    validation
        A public pair (X, y) to score on; None to score on the private records.
    scoring
        From one prediction and its label to a score in [0, 1]; None for the usual ones.
    score_share
        The share of a trial's epsilon that pays for its score.

    Attributes
    ----------
    best_estimator_
        The model with the best score.
    best_params_
        Its candidate.
    best_score_
        Its mean score, with noise unless `validation` is given.
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
    >>> search = dp.learn.PrivateSearch(
    ...     dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6)),
    ...     [{"row_norm": c} for c in (0.3, 1.0, 3.0, 10.0)], dp.ApproxDP(4.0, 1e-5))
    >>> _ = search.fit(X, y)
    >>> bool(search.loss_.epsilon(1e-5) <= 4.0), search.best_params_ in search.candidates, 0 <= search.best_score_ <= 1
    (True, True, True)
    """

    estimator: Any
    candidates: Sequence[Mapping[str, Any]]
    guarantee: Guarantee
    _: KW_ONLY
    tries: Tries | None = None
    validation: tuple[Any, Any] | None = None
    scoring: Scoring | None = None
    score_share: float = 0.1

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        return self._plan()[2]

    @pays_for_all
    def fit(self, X: Any, y: Any) -> Any:
        """Search on records X and labels y."""
        alone(self)
        trial, tries, loss = self._plan()
        features = matrix(X)
        labels = one_each(y, len(features))
        best: tuple[float, float, Any, Mapping[str, Any]] | None = None
        for number in range(tries.draw()):
            params = self.candidates[self._chosen(tries, number)]
            model = clone(self.estimator).set_params(**params, guarantee=trial.fit).fit(features, labels)
            rank, value = self._score(model, features, labels, trial.score)
            if best is None or rank > best[0]:
                best = rank, value, model, params
        if best is None:
            params = self.candidates[0]
            model = clone(self.estimator).set_params(**params, guarantee=trial.fit)
            best = 0.0, float("nan"), model.fit(features[:0], labels[:0]), params
        _, self.best_score_, self.best_estimator_, self.best_params_ = best
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

    def _chosen(self, tries: Tries, number: int) -> int:
        if isinstance(tries, FixedTries):
            return number % len(self.candidates)
        return int(uniform_integers(0, len(self.candidates)))

    def _score(self, model: Any, x: Any, y: Any, noise: Gaussian | Laplace | None) -> tuple[float, float]:
        """By what to rank a trial, and its mean score."""
        if noise is None:
            assert self.validation is not None
            mean = float(np.mean(self._each(model, *self.validation)))
            return mean, mean
        usable = np.isfinite(x).all(axis=1)
        x, y = x[usable], y[usable]
        parts = (
            np.floor(self._each(model, x, y) * SCORE_UNITS).astype(np.int64)
            if len(x)
            else np.zeros(0, np.int64)
        )
        # (s, 1 - s) has norm 1 at most: the second sum is free, and the two tell how many records there are.
        whole = int(parts.sum())
        good, bad = np.asarray(noise.release(np.array([whole, SCORE_UNITS * len(x) - whole]))) / SCORE_UNITS
        return float(good - bad), float(min(max(good / max(good + bad, 1.0), 0.0), 1.0))

    def _each(self, model: Any, x: Any, y: Any) -> Reals:
        """One score from 0 to 1 for each record, a function of that record alone."""
        predicted = model.predict(x)
        if self.scoring is not None:
            scores = np.array(
                [_one(self.scoring, *pair) for pair in zip(predicted, one_each(y, len(x)), strict=True)]
            )
        elif is_classifier(model):
            scores = sum((predicted == c) & same(np.asarray(y), c) for c in model.classes_) + np.zeros(len(x))
        else:
            targets = Targets(getattr(model, "target_bounds", (0.0, getattr(model, "most", 1.0))))
            with np.errstate(all="ignore"):
                scores = 1 - np.abs(predicted - numbers(y, len(x))) / (2 * targets.spread)
        return np.asarray(np.clip(np.nan_to_num(scores, nan=0.0), 0.0, 1.0))

    def _plan(self) -> tuple[_Trial, Tries, Loss]:
        """A trial, how many there will be, and what they cost together."""
        promise = checked_guarantee(self.guarantee)
        share = checks.open_probability("score_share", self.score_share)
        if not self.candidates:
            raise InvalidParameter("candidates is empty; list at least one dict of parameters.")
        if self.scoring is not None and not callable(self.scoring):
            raise InvalidParameter("scoring must be a function of one prediction and one label.")
        tries = self._tries(promise)

        def trial(amount: float) -> _Trial:
            return _Trial.of(promise, amount, share, self.validation is not None)

        def kept(amount: float) -> bool:
            prices = self._prices(trial(amount))
            if isinstance(tries, RandomTries) and isinstance(promise, ApproxDP) and promise.delta > 0:
                return tries.keeps(promise, prices)
            return promise.holds(tries.loss(*prices, promise=promise))

        amount = _share_of_all(promise, tries, 0.0 if self.validation is not None else share)
        if amount is None or not kept(amount):
            amount = _largest(kept, promise)
        loss = tries.loss(*self._prices(trial(amount)), promise=promise)
        if not promise.holds(loss):
            raise CannotMeet(f"a search that keeps {promise} was not found; choose other tries.")
        return trial(amount), tries, loss

    def _tries(self, promise: Guarantee) -> Tries:
        number = len(self.candidates)
        slow = promise.view != "profile"
        if self.tries is None:
            return FixedTries(number) if slow or number <= 2 else GeometricTries()
        if isinstance(self.tries, RandomTries) and promise.view == "trade-off":
            raise CannotMeet(
                f"the best of a random number of trials cannot be shown to keep {promise}; use FixedTries({number})."
            )
        return self.tries

    def _prices(self, trial: _Trial) -> tuple[Loss, ...]:
        """The losses of the candidates' trials; one if they are all the same."""
        fits = [clone(self.estimator).set_params(**c, guarantee=trial.fit).price() for c in self.candidates]
        prices = fits if trial.score is None else [fit + trial.score.loss for fit in fits]
        return tuple(prices[:1] if all(p == prices[0] for p in prices) else prices)


def _one(scoring: Scoring, predicted: object, true: object) -> float:
    """The score of one record; 0 for one that cannot be scored, as an error would tell of it."""
    try:
        return float(scoring(predicted, true))
    except Exception:
        return 0.0


def _share_of_all(promise: Guarantee, tries: Tries, share: float) -> float | None:
    """The amount of each of a fixed number of trials, where amounts (or, for mu, their squares) add up."""
    if not isinstance(tries, FixedTries):
        return None
    parts = tries.number * (1 + share**2) * (1 + 1e-6)
    if promise.view == "profile" or promise.size is None:
        return None
    return promise.divided(parts).size


def _largest(kept: Callable[[float], bool], promise: Guarantee) -> float:
    """The largest amount, to a thousandth, with which the promise is kept."""
    start = (promise.size or 1.0) / 2

    def small_enough(amount: float) -> bool:
        if amount < 1e-6 * start:
            raise CannotMeet(f"no budget of a trial is small enough to keep {promise}; try fewer times.")
        return kept(amount)

    return change_point(small_enough, start, relative=1e-3)[0]
