"""PATE: many teachers on parts of the private records label public ones, and a student learns from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from dalenius.adaptive.pate.consensus_vote import pate_ptr
from dalenius.adaptive.pate.gnmax import Counts, GNMax
from dalenius.adaptive.ptr.propose_test_release import ProposeTestRelease
from dalenius.adaptive.ptr.refusal import Refusal
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.learn.data.parameters import approximate
from dalenius.learn.data.refits import alone
from dalenius.learn.data.rows import labels_of, matrix, same
from dalenius.learn.methods import isolated
from dalenius.learn.models.in_notebooks import InNotebooks
from dalenius.learn.models.subsample_aggregate import silent
from dalenius.noise import uniform_integers


@dataclass(eq=False, repr=False)
class PATEClassifier(ClassifierMixin, MetaEstimatorMixin, InNotebooks, BaseEstimator):  # type: ignore[misc]
    """Teachers on disjoint parts of the records vote on public queries; a student learns from the noisy winners.

    (Papernot et al. 2018; Redberg 2023, Algorithm 6, with a sharper test.) Every record goes to one of the `teachers`,
    chosen independently and uniformly, so that a record that is added, removed or replaced changes one teacher, who may
    then vote as it pleases. Gaussian noise of deviation `sigma` goes on every count of votes. What that costs depends
    on how well the teachers agree: it is proposed that they agree so well that all answers together cost
    (1 - test_share) epsilon, and a test with `test_share` of epsilon decides whether they do. If not, nothing is
    released: `refused_` is True, the price is paid, and there is no student.

    Each teacher is fitted in a process of its own, as in `SubsampleAggregate`; one that fails votes for the first
    class.

    It has no saved form (`dp.learn.save`): the student is an estimator of another package, and what that learned only
    its own tools can write. Nothing is lost: all that was released are the labels of the public queries, `labels_`, and
    a student fitted to these again costs nothing.

    Parameters
    ----------
    teacher
        An estimator of scikit-learn's kind.
    guarantee
        The promise that one fit keeps, such as `dp.ApproxDP(1.0, 1e-5)`.
    classes
        The labels, two or more; public.
    student
        An estimator of scikit-learn's kind, fitted on public queries and released labels only; a copy of `teacher` for
        None.
    teachers
        How many parts the records are divided into.
    sigma
        The standard deviation of the noise, in votes; a twenty-fifth of the teachers for None.
    test_share
        The share of epsilon that the test may cost.
    timeout
        Seconds that one teacher may take; one that takes longer votes for the first class.

    Attributes
    ----------
    labels_
        The released labels of the queries; None after a refusal.
    student_
        The student; None after a refusal.
    refused_
        Whether the test failed.
    classes_
        The labels.
    loss_
        What the fit cost, whatever the data.

    Raises
    ------
    InvalidParameter
        By `fit`, if a parameter is outside what is allowed, or X or y is not a table and its labels; by `predict`,
        after a refusal.
    CannotMeet
        By `fit` and `price`, if the promise is not an `ApproxDP` with a delta.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)); y = (X[:, 0] > 0).astype(int)
    >>> queries = np.column_stack((np.where(np.arange(40) % 2, 1.0, -1.0), rng.normal(size=40)))
    >>> model = dp.learn.PATEClassifier(GaussianNB(), dp.ApproxDP(1.0, 1e-5), classes=(0, 1), teachers=60)
    >>> model = model.fit(X, y, queries)
    >>> model.refused_ or bool(model.score(X, y) > 0.8)
    True
    """

    teacher: Any
    guarantee: Guarantee
    _: KW_ONLY
    classes: Sequence[Any]
    student: Any = None
    teachers: int = 100
    sigma: float | None = None
    test_share: float = 0.5
    timeout: float = 60.0

    def price(self) -> Loss:
        """What a fit will cost, whatever the data and however many queries there are."""
        return self._mechanism(1).loss

    def _mechanism(self, queries: int) -> ProposeTestRelease:
        promise = approximate(self.guarantee, "a vote with a test")
        share = checks.number("test_share", self.test_share)
        if not 0 < share < 1:
            raise InvalidParameter(f"test_share is {share}; it must be above 0 and below 1.")
        teachers = checks.count("teachers", self.teachers, least=2)
        sigma = teachers / 25 if self.sigma is None else self.sigma
        vote = GNMax(sigma=sigma, teachers=teachers, classes=len(self._labels()), queries=queries)
        test = share * promise.epsilon
        delta = promise.delta * (1 - 1e-6)
        return pate_ptr(
            vote, epsilon=(promise.epsilon - test) * (1 - 1e-9), delta=delta, test_epsilon=test * (1 - 1e-9)
        )

    def _labels(self) -> Any:
        labels = np.asarray(self.classes)
        if labels.ndim != 1 or len(labels) < 2 or len(set(labels.tolist())) < len(labels):
            raise InvalidParameter(
                f"classes is {self.classes!r}; name the labels, each once: they are public and must not be read off "
                "the data."
            )
        return labels

    def fit(self, X: Any, y: Any, queries: Any) -> Any:
        """Fit teachers on private records X and labels y, have them label public `queries`, and fit the student.

        Rows that are not numbers, and labels that were not declared, count as absent.
        """
        alone(self)
        features, public, labels = matrix(X), matrix(queries), self._labels()
        if public.shape[1] != features.shape[1] or not len(public) or not np.isfinite(public).all():
            raise InvalidParameter("queries must be finite numbers, one row or more, with the columns of X.")
        mechanism, timeout = self._mechanism(len(public)), checks.positive("timeout", self.timeout)
        silent(self.teacher)
        task = isolated.packed(_Teacher(self.teacher, public))
        given = labels_of(y, len(features))
        known = np.array([same(given, label) for label in labels])
        usable = known.any(axis=0) & np.isfinite(features).all(axis=1)
        features, given = features[usable], known.argmax(axis=0)[usable]
        where = np.asarray(uniform_integers(0, self.teachers, len(features)))
        parts = ((features[where == part], given[where == part]) for part in range(self.teachers))
        votes = np.zeros((len(public), len(labels)), dtype=np.int64)
        for answers in isolated.results(task, parts, len(public), timeout):
            votes[np.arange(len(public)), _valid(answers, len(labels))] += 1
        return self._learn(mechanism.release(votes), public, labels, mechanism.loss)

    def _learn(self, answer: Any, public: Reals, labels: Any, loss: Loss) -> Any:
        """The student: nothing but post-processing."""
        self.classes_, self.loss_, self.n_features_in_ = labels, loss, public.shape[1]
        self.refused_ = isinstance(answer, Refusal)
        self.labels_ = None if self.refused_ else labels[answer]
        self.student_ = None
        if self.labels_ is not None:
            seen = np.unique(self.labels_)
            student = (
                _Constant(seen[0])
                if len(seen) == 1
                else clone(self.teacher if self.student is None else self.student)
            )
            self.student_ = student.fit(public, self.labels_)
        return self

    def predict(self, X: Any) -> Any:
        """What the student says."""
        check_is_fitted(self, "refused_")
        if self.student_ is None:
            raise InvalidParameter(
                "the teachers did not agree well enough for the promise, and nothing was released (refused_ is True)."
            )
        return self.student_.predict(matrix(X, self.n_features_in_, type(self).__name__))


@dataclass(frozen=True)
class _Teacher:
    """What is done with one part of the records: the numbers of the classes that the queries get."""

    estimator: Any
    queries: Reals

    def __call__(self, x: Reals, y: Any) -> Any:
        if len(np.unique(y)) == 1:
            return np.full(len(self.queries), y[0])
        return clone(self.estimator).fit(x, y).predict(self.queries)


@dataclass
class _Constant:
    """A student of a single class."""

    label: Any

    def fit(self, x: Reals, y: Any) -> _Constant:
        return self

    def predict(self, x: Reals) -> Any:
        return np.full(len(x), self.label)


def _valid(answers: Reals, classes: int) -> Counts:
    """Whole numbers of classes; what is none of them votes for the first."""
    numbers = np.where(np.isin(answers, np.arange(classes)), answers, 0)
    return np.asarray(numbers.astype(np.int64))
