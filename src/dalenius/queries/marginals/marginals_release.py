"""What `AdaptiveMarginals` releases: noisy marginals, the distribution fitted to them, and rows drawn from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.arrays import Array, Ints, Reals
from dalenius.errors import InvalidParameter
from dalenius.noise.source import word
from dalenius.queries.marginals.fit import Fitted
from dalenius.queries.marginals.junction_tree import Scope
from dalenius.queries.marginals.measurement import Measurement
from dalenius.queries.marginals.refine import on_the_simplex, refined
from dalenius.queries.marginals.rows import sample
from dalenius.queries.release import Release
from dalenius.queries.values import values
from dalenius.queries.workload.workload import Workload

MOST_ROWS = 2**22
"""A table that marginals are answered from has at most this many rows."""

UNASKED = 10**6
"""At most so many rows are made where nobody says how many: noise alone can make a few people look like millions."""


class MarginalsRelease(Release):
    """Noisy marginals, a distribution fitted to them, and synthetic rows. All it does is post-processing.

    What carries a promise: `conf_int` of a marginal that was measured, from its noise alone; `error`, a bound on how
    far the fitted counts of such a marginal are from the exact ones. Everything else about the synthetic rows
    (other marginals, models trained on them, tests and intervals computed from them as if they were data) follows
    from the fit and carries none.

    Parameters
    ----------
    workload
        The questions.
    loss
        What the release cost.
    measurements
        The noisy marginals, in the order in which they were measured.
    fitted
        The graphical model.
    outside
        The measured marginals that the model's limit on size left out: rows are moved to meet them, too.
    mark
        What rows are drawn from: the same number of rows of one release is the same rows. Drawn, if it is left out.

    Examples
    --------
    >>> import dalenius as dp
    >>> domain = dp.queries.Domain({"sex": ["F", "M"], "smoker": ["no", "yes"]})
    >>> w = dp.queries.Workload.marginals(domain, 2)
    >>> data = {"sex": ["F", "M"] * 500, "smoker": ["no", "yes", "no", "no"] * 250}
    >>> r = dp.queries.AdaptiveMarginals(w, dp.ZCDP(0.5)).release(data)
    >>> table = r.synthesize(100)
    >>> sorted(table), len(table["sex"]), set(table["smoker"]) <= {"no", "yes"}
    (['sex', 'smoker'], 100, True)
    """

    def __init__(
        self,
        workload: Workload,
        loss: Loss,
        measurements: Sequence[Measurement],
        fitted: Fitted,
        outside: Sequence[Measurement] = (),
        mark: int | None = None,
    ) -> None:
        super().__init__(workload, loss)
        self.mark = word() if mark is None else mark
        self.measurements, self.fitted, self.outside = tuple(measurements), fitted, tuple(outside)

    @property
    def rows(self) -> int:
        """The number of rows of the table, as far as the noise lets it be known."""
        return max(1, round(self.fitted.total))

    @property
    def measured(self) -> tuple[tuple[str, ...], ...]:
        """The names of the columns of every marginal that was measured value by value, in order, each once."""
        return self._named(m for m in self.measurements if m.groups is None)

    @property
    def measured_in_groups(self) -> tuple[tuple[str, ...], ...]:
        """The names of the columns of every marginal that was measured in groups of values: no intervals for cells."""
        return self._named(m for m in self.measurements if m.groups is not None)

    def _named(self, measurements: Iterable[Measurement]) -> tuple[tuple[str, ...], ...]:
        scopes = dict.fromkeys(m.scope for m in measurements)
        return tuple(tuple(self.domain.names[v] for v in scope) for scope in scopes)

    # -- answers ------------------------------------------------------------------------------------

    def marginal(self, names: Iterable[str]) -> Array:
        """The fitted counts over some columns.

        Parameters
        ----------
        names
            The names of the columns.

        Returns
        -------
        ndarray
            Nonnegative counts, of the shape `domain.project(names).shape`.

        Raises
        ------
        InvalidParameter
            If a name is unknown.
        """
        places = tuple(self.domain.position(name) for name in self.domain.checked(names))
        order = np.argsort(places)
        counts = self._counts(tuple(sorted(places)))
        return np.asarray(counts.transpose(np.argsort(order)))

    def _counts(self, scope: Scope) -> Reals:
        if not self.outside:
            return self.fitted.counts(scope)
        sizes = [self.domain.shape[v] for v in scope]
        if not scope:
            return np.array(self.fitted.total)
        flat = np.ravel_multi_index([self._table[:, v] for v in scope], sizes)
        counts = np.bincount(flat, minlength=math.prod(sizes)).reshape(sizes)
        return np.asarray(counts * (self.fitted.total / len(self._table)), dtype=np.float64)

    def answers(self) -> Array:
        """The workload's answers in its order, as counts of rows.

        Returns
        -------
        ndarray
            One number for each question.
        """
        return np.concatenate(
            [part.answers(self._counts(tuple(part.positions))) for _, part in self.workload.parts]
        )

    # -- what is known of the error -------------------------------------------------------------------

    def conf_int(self, confidence: float = 0.95, names: Iterable[str] | None = None) -> Array:
        """Intervals for the exact counts of a marginal that was measured, from its noise alone.

        The noisy counts were kept aside: they are unbiased whatever the fit. An interval holds the exact count of
        these data (of the rows within the domain) with the probability given, or a larger one.

        Parameters
        ----------
        confidence
            The probability with which each interval holds the exact count.
        names
            The names of the columns; by default the workload's, if it is one marginal.

        Returns
        -------
        ndarray
            The lower and the upper end, along a last axis of length 2.

        Raises
        ------
        InvalidParameter
            If the marginal was not measured: `measured` lists those that were.
        """
        level = checks.confidence(confidence)
        if names is None:
            names = self._only_marginal()
        found, order = self._measurement(names)
        return np.asarray(found.interval(level).transpose(*order, len(order)))

    def error(self, names: Iterable[str], confidence: float = 0.95) -> float:
        """How far the fitted counts of a measured marginal are, at most, from the exact ones.

        By the triangle inequality: the distance from the noisy counts, which is known, and that of the noisy counts
        from the exact ones, whose law is known. It holds for these data with the probability given, or a larger one.

        Parameters
        ----------
        names
            The names of the columns.
        confidence
            The probability.

        Returns
        -------
        float
            A bound on the total variation distance between the two, as a share of `rows`; it may exceed 1, where the
            noise is too large to tell.

        Raises
        ------
        InvalidParameter
            If the marginal was not measured: `measured` lists those that were.
        """
        level = checks.confidence(confidence)
        found, _ = self._measurement(names)
        apart = float(np.abs(self._counts(found.scope) - found.counts).sum())
        return (apart + found.far(level)) / (2 * self.rows)

    def _measurement(self, names: Iterable[str]) -> tuple[Measurement, list[int]]:
        """The least noisy measurement of these columns, and the order of its axes that they are asked for in."""
        wanted = self.domain.checked(names)
        places = [self.domain.position(name) for name in wanted]
        scope = tuple(sorted(places))
        found = [m for m in self.measurements if m.scope == scope and m.groups is None]
        if not found:
            raise InvalidParameter(
                f"the counts of {', '.join(wanted) or 'all rows'} were not measured, so that nothing is promised about "
                "them: `measured` lists the marginals that were."
            )
        return min(found, key=lambda m: m.sigma), [scope.index(v) for v in places]

    def _only_marginal(self) -> tuple[str, ...]:
        if len(self.workload.parts) != 1:
            raise InvalidParameter("give the names of a marginal: `measured` lists those with an interval.")
        return tuple(self.domain.names[v] for v in self.workload.parts[0][1].positions)

    # -- rows -----------------------------------------------------------------------------------------

    def codes(self, n: int | None = None) -> Ints:
        """Synthetic rows as whole numbers, one column for each of the domain's.

        Parameters
        ----------
        n
            How many rows; by default `rows`, and a million at most.

        Returns
        -------
        ndarray
            Codes of the shape (n, columns).

        Raises
        ------
        InvalidParameter
            If n is not a whole number, 1 or more.
        """
        count = min(self.rows, UNASKED) if n is None else checks.count("n", n, least=1)
        draw = np.random.default_rng([self.mark, count])
        found = sample(self.fitted.model, count, draw)
        if not self.outside:
            return found
        share = count / self.fitted.total
        inside = [m for m in self.measurements if m not in self.outside]
        targets = [(m.scope, self.fitted.counts(m.scope) * share, m.sigma**-2) for m in inside if m.scope]
        for m in self.outside:
            counts = on_the_simplex(m.counts.astype(np.float64), self.fitted.total)
            targets.append((m.scope, counts * share, m.sigma**-2))
        return refined(found, self.domain.shape, targets, draw)

    def synthesize(self, n: int | None = None) -> dict[str, Array]:
        """Synthetic rows in the values of the domain.

        Numbers in bins are drawn evenly from their bin. Rows are spread over the cells as evenly as whole numbers
        allow, rather than drawn independently: the marginals of the model come out with hardly any sampling error.

        Parameters
        ----------
        n
            How many rows; by default the noisy number of rows of the table, and a million at most.

        Returns
        -------
        dict
            The columns by name.

        Raises
        ------
        InvalidParameter
            If n is not a whole number, 1 or more.
        """
        codes = self.codes(n)
        draw = np.random.default_rng(word())
        columns = self.domain.columns.items()
        return {name: values(column, codes[:, v], draw) for v, (name, column) in enumerate(columns)}

    @cached_property
    def _table(self) -> Ints:
        return self.codes(min(self.rows, MOST_ROWS))
