"""Any scikit-learn estimator, privately: fit it on many small parts and release a noisy mean of its coefficients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.learn.curves import Reals
from dalenius.learn.linear_model import checked_guarantee
from dalenius.learn.refits import alone
from dalenius.learn.rows import matrix, one_each
from dalenius.mechanisms import Gaussian, KNorm
from dalenius.noise import uniform_integers

Extract = Callable[[Any], Any]


class SubsampleAggregate(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fits `estimator` on `parts` disjoint random parts; releases the mean of what `extract` reads off, plus noise.

    Every record goes to one part, chosen independently and uniformly, so that adding or removing a record changes one
    part only, and in it anything (seed 000 chapter 8; Nissim, Raskhodnikova and Smith 2007). The vector read off each
    part (by default coef_ and intercept_) has `size` numbers and is scaled down to norm `bound`; a part that fails to
    fit counts as zeros. One part moves the mean by 2 bound/parts: Gaussian noise for that, K-norm noise for PureDP.

    Needs no property of the estimator at all. The price: a part must be large enough to learn from.

    >>> import numpy as np, dalenius as dp
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 2)); y = X @ [1.0, -1.0]
    >>> fit = dp.learn.SubsampleAggregate(LinearRegression(), dp.ApproxDP(1.0, 1e-5), size=3, bound=2.0, parts=400)
    >>> bool(abs(fit.fit(X, y).value_ - [1, -1, 0]).max() < 0.3)
    True
    """

    def __init__(
        self,
        estimator: Any,
        guarantee: Guarantee,
        *,
        size: int,
        bound: float,
        parts: int = 100,
        extract: Extract | None = None,
    ) -> None:
        self.estimator = estimator
        self.guarantee = guarantee
        self.size = size
        self.bound = bound
        self.parts = parts
        self.extract = extract

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        return self._mechanism().loss

    def _mechanism(self) -> Gaussian | KNorm:
        promise = checked_guarantee(self.guarantee)
        moved = (
            2 * checks.positive("bound", self.bound) / checks.count("parts", self.parts, least=2) * (1 + 1e-9)
        )
        pure = promise.as_pure()
        if pure is not None:
            return KNorm.calibrated(pure, sensitivity=moved)
        return Gaussian.calibrated(promise, sensitivity=moved)

    def fit(self, X: Any, y: Any) -> Any:
        """Fit the parts on records X and labels y and release `value_`."""
        mechanism, size = self._mechanism(), checks.count("size", self.size, least=1)
        alone(self)
        _silent(self.estimator)
        features = matrix(X)
        labels = one_each(y, len(features))
        where = np.asarray(uniform_integers(0, self.parts, len(features)))
        found = np.zeros((self.parts, size))
        for part in range(self.parts):
            chosen = where == part
            vector = self._vector(features[chosen], labels[chosen], size)
            with np.errstate(all="ignore"):  # a warning would tell of one part
                length = float(np.linalg.norm(vector))
            found[part] = vector * min(1.0, self.bound / length * (1 - 1e-12)) if length > 0 else vector
        # Rounded to a grid and added as integers, so that the other parts add up to the same in both worlds.
        units = np.rint(found / self.bound * 2.0**40).astype(np.int64).sum(axis=0)
        mean = units / 2.0**40 * self.bound / self.parts
        self.value_: Reals = np.asarray(mechanism.release(mean))
        self.loss_ = mechanism.loss
        self.n_features_in_ = features.shape[1]
        return self

    def _vector(self, x: Reals, y: Reals, size: int) -> Reals:
        extract = _coefficients if self.extract is None else self.extract
        before = np.random.get_state()  # noqa: NPY002
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a warning would tell of one part
                vector = np.ravel(np.asarray(extract(clone(self.estimator).fit(x, y)), dtype=np.float64))
        except Exception:
            return np.zeros(size)
        finally:
            np.random.set_state(before)  # noqa: NPY002 - how many numbers were drawn would tell of one part
        return vector if vector.shape == (size,) and np.isfinite(vector).all() else np.zeros(size)

    def predict(self, X: Any) -> Reals:
        """x.coef + intercept with the released numbers (linear models read off by default)."""
        check_is_fitted(self, "value_")
        x = matrix(X, self.n_features_in_, type(self).__name__)
        return np.asarray(
            x @ self.value_[: x.shape[1]] + (self.value_[x.shape[1]] if self.size > x.shape[1] else 0.0)
        )


def _silent(estimator: Any) -> None:
    """Refuse an estimator that would print or store what it sees of its part."""
    for name, value in estimator.get_params(deep=True).items():
        what = name.rsplit("__", 1)[-1]
        if (what == "verbose" and value) or (what == "memory" and value is not None):
            raise InvalidParameter(
                f"the estimator has {name}={value!r}: it would show rows of the data while it is fitted; leave it out."
            )


def _coefficients(model: Any) -> Reals:
    return np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
