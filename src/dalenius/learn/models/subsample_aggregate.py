"""Any scikit-learn estimator, privately: fit it on many small parts and release a noisy mean of its coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.learn.data.parameters import checked_guarantee
from dalenius.learn.data.refits import alone
from dalenius.learn.data.rows import matrix, one_each, products
from dalenius.learn.methods import isolated
from dalenius.learn.models.in_notebooks import InNotebooks
from dalenius.learn.models.reported import Reported
from dalenius.mechanisms import Gaussian, KNorm
from dalenius.noise import uniform_integers

Extract = Callable[[Any], Any]


@dataclass(eq=False, repr=False)
class SubsampleAggregate(MetaEstimatorMixin, InNotebooks, Reported, BaseEstimator):  # type: ignore[misc]
    """Fits `estimator` on `parts` disjoint random parts; releases the mean of what `extract` reads off, plus noise.

    Every record goes to one part, chosen independently and uniformly, so that adding or removing a record changes one
    part only, and in it anything (Nissim, Raskhodnikova and Smith 2007). The vector read off each part (by default
    coef_ and intercept_) has `size` numbers and is scaled down to norm `bound`; a part that fails to fit counts as
    zeros. One part moves the mean by 2 bound/parts: Gaussian noise for that, K-norm noise for PureDP.

    Needs no property of the estimator at all. The price: a part must be large enough to learn from. Each part is
    fitted in a process of its own, which nothing but these numbers leaves: what the estimator prints, raises or
    remembers is dropped with it. Files and connections are not watched: give records only to code that is trusted not
    to use them.

    Parameters
    ----------
    estimator
        An estimator of scikit-learn's kind.
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    size
        How many numbers `extract` returns.
    bound
        The largest norm of these numbers; public.
    parts
        How many parts the records are divided into.
    extract
        From a fitted estimator to its numbers; coef_ and intercept_ for None.
    timeout
        Seconds that one part may take; a part that takes longer counts as zeros.

    Attributes
    ----------
    value_
        The number released.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels.
    InvalidParameter
        By `price` and `fit`, if the estimator would show rows or cannot be sent to another process.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> from sklearn.linear_model import LinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2)); y = X @ [1.0, -1.0]
    >>> fit = dp.learn.SubsampleAggregate(LinearRegression(), dp.ApproxDP(8.0, 1e-5), size=3, bound=2.0, parts=20)
    >>> bool(abs(fit.fit(X, y).value_ - [1, -1, 0]).max() < 1.0)
    True
    """

    estimator: Any
    guarantee: Guarantee
    _: KW_ONLY
    size: int
    bound: float
    parts: int = 100
    extract: Extract | None = None
    timeout: float = 60.0

    def price(self) -> Loss:
        """What a fit will cost, whatever the data."""
        self._task()
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
        parts, bound = checks.count("parts", self.parts, least=2), checks.positive("bound", self.bound)
        task, timeout = self._task(), checks.positive("timeout", self.timeout)
        alone(self)
        features = matrix(X)
        labels = one_each(y, len(features))
        where = np.asarray(uniform_integers(0, parts, len(features)))
        chosen = ((features[where == part], labels[where == part]) for part in range(parts))
        total = np.zeros(size, dtype=np.int64)
        for vector in isolated.results(task, chosen, size, timeout):
            with np.errstate(all="ignore"):  # a warning would tell of one part
                length = float(np.linalg.norm(vector))
            short = vector * min(1.0, bound / length * (1 - 1e-12)) if length > 0 else vector
            # Rounded to a grid and added as integers, so that the other parts add up to the same in both worlds.
            total += np.rint(short / bound * 2.0**40).astype(np.int64)
        mean = total / 2.0**40 * bound / parts
        self.value_: Reals = np.asarray(mechanism.release(mean))
        self.loss_ = mechanism.loss
        self.n_features_in_ = features.shape[1]
        return self

    def _task(self) -> bytes:
        silent(self.estimator)
        return isolated.packed(_Part(self.estimator, _coefficients if self.extract is None else self.extract))

    def predict(self, X: Any) -> Reals:
        """x.coef + intercept with the released numbers (linear models read off by default)."""
        check_is_fitted(self, "value_")
        x = matrix(X, self.n_features_in_, type(self).__name__)
        return np.asarray(
            products(x, self.value_[: x.shape[1]])
            + (self.value_[x.shape[1]] if self.size > x.shape[1] else 0.0)
        )


@dataclass(frozen=True)
class _Part:
    """What is done with one part of the records."""

    estimator: Any
    extract: Extract

    def __call__(self, x: Reals, y: Any) -> Any:
        return self.extract(clone(self.estimator).fit(x, y))


def silent(estimator: Any) -> None:
    """Refuse an estimator that would print or store what it sees of its part."""
    for name, value in estimator.get_params(deep=True).items():
        what = name.rsplit("__", 1)[-1]
        if (what == "verbose" and value) or (what == "memory" and value is not None):
            raise InvalidParameter(
                f"the estimator has {name}={value!r}: it would show rows of the data while it is fitted; leave it out."
            )


def _coefficients(model: Any) -> Reals:
    return np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
