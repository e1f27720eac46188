"""The answer to a question: estimates with standard errors and intervals, as a table one can look at."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.core.checks import confidence as checked_confidence
from dalenius.core.checks import flag
from dalenius.core.habits import absent
from dalenius.errors import InvalidParameter
from dalenius.intervals.laws import Noisy
from dalenius.intervals.ratios import interval
from dalenius.tables.aggregates.direct import Direct
from dalenius.tables.aggregates.histogram import histogram_labels
from dalenius.tables.aggregates.top_k import TopK
from dalenius.tables.compute.exact import ExactTable
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.plan.plan import Plan
from dalenius.tables.release.contradictions import contradict, log_chances
from dalenius.tables.release.estimates import Wanted, columns
from dalenius.tables.release.left_out import left_out
from dalenius.tables.release.reconcile import whole
from dalenius.tables.release.released import Released, release
from dalenius.tables.release.sheet import ENDS, Shaped, Sheet
from dalenius.tables.release.sheet import UnknownColumn as UnknownColumn
from dalenius.tables.statistics.column import Column

FARTHEST = 1e30
"""Where the ends of ratios stop that are not bounded: computed with, infinity is not a number."""

CUT = (
    " Or max_rows or max_groups cut the rows of a unit, by what is asked: session.truncation(budget) tells of how "
    "many, and larger ones cut fewer."
)


HINTS = {
    **dict.fromkeys(["df", "to_frame"], "write to_pandas() or to_polars()"),
    **dict.fromkeys(
        ["groupby", "head", "iloc", "loc", "merge", "query", "sort_values"],
        "go on with a data frame, to_pandas(); sorted('n') and top('n', 5) are here, too",
    ),
    "to_json": "write to_dict(), or to_pandas().to_json(...)",
    "to_latex": "write to_markdown(), or to_pandas().to_latex()",
    "estimate": "an answer has columns, each with its own: answer['n'].estimate",
    "to_df": "write to_pandas() or to_polars()",
    "to_excel": "write to_csv('table.csv', for_spreadsheets=True), or to_pandas().to_excel(...)",
    "value": "an answer has columns: answer['n'].estimate",
    "values": "an answer has columns: answer['n'].estimate, or to_dict()",
}


@dataclass(frozen=True, eq=False)
class Answer(Sheet):
    """What was released for a question. Everything here is post-processing: look as often as you like.

    `columns` holds, for every aggregate, estimates with `error` (standard error from the privacy noise),
    `low` and `high`. `at(...)` gives the same answer with other intervals.
    """

    plan: Plan
    released: Released
    cost: str
    wanted: Wanted = field(default_factory=Wanted)
    free: bool = False
    """Whether this answer was on record and cost nothing now."""
    given: str | None = None
    """When it was given, for the first time where it was on record."""
    adjusted: Released | None = None
    """What was released, made to agree: estimates come from it, intervals from what was released."""
    reconciled: bool = False
    """Whether it is part of a cross-table, whose numbers have noise in common."""

    if not TYPE_CHECKING:  # with it type checkers would take every name for one that is there

        def __getattr__(self, name: str) -> NoReturn:
            hints = HINTS
            if (
                not name.startswith("_")
                and "released" in vars(self)
                and name in dict(self.plan.query.aggregates)
            ):
                hints = {name: f"columns are taken by their names, answer[{name!r}].estimate"}
            raise absent("an answer", name, dir(type(self)), hints)

    @cached_property
    def columns(self) -> list[Column]:
        if self.keys and self.adjusted is None:
            return columns(self.plan.query, self.released, self.wanted)
        if self.keys:
            around = columns(self.plan.query, self.released, self.wanted)
            shown = columns(self.plan.query, self.estimated, self.wanted)
            return [_moved(old, new.estimate) for old, new in zip(around, shown, strict=True)]
        # No key came to light: the columns of a group of nobody, without that group.
        nobody = {
            noise.measure: np.zeros(
                (1, noise.measure.size) if noise.measure.bins is not None else 1, dtype=np.int64
            )
            for noise in self.plan.noises
        }
        shapes = columns(self.plan.query, release(self.plan, ExactTable((), [()], nobody)), self.wanted)
        none = np.empty(0)
        return [replace(column, estimate=none, error=none, low=none, high=none) for column in shapes]

    @property
    def names(self) -> tuple[str, ...]:
        return self.released.columns

    @property
    def keys(self) -> list[tuple[Any, ...]]:
        return self.released.keys

    @property
    def left_out(self) -> str:
        """What is beyond the bounds of a unit and does not count, in words; empty where every row counts."""
        return left_out(self.plan)

    def at(
        self,
        confidence: float | None = None,
        *,
        simultaneous: bool | None = None,
        sampling: bool | None = None,
    ) -> Answer:
        """The same answer with other intervals.

        confidence: of each interval, or of all of them at once with `simultaneous`. sampling: intervals are for the
        population the rows were drawn from, not for the table: of means, proportions, variances, covariances,
        correlations and quantiles. Counts, sums and histograms are of the table always.
        """
        wanted = Wanted(
            self.wanted.confidence if confidence is None else checked_confidence(confidence),
            self.wanted.simultaneous if simultaneous is None else flag("simultaneous", simultaneous),
            self.wanted.sampling if sampling is None else flag("sampling", sampling),
            self.wanted.among,
        )
        return replace(self, wanted=wanted)

    def consistent(self) -> Answer:
        """Counts that could be true: whole and not negative. Intervals stay as they were.

        For groups that add up, ask for the same count without groups, too: `parts.agreeing_with(total)`, or for a table
        with its margins: `table.cube(...)`.
        """
        return self._adjusted(
            {
                measure: replace(noisy, values=np.maximum(np.rint(noisy.values), 0.0))
                if measure.whole
                else noisy
                for measure, noisy in self.estimated.measures.items()
            }
        )

    def agreeing_with(self, total: Answer) -> Answer:
        """This answer with counts and sums adjusted to add up to totals: the same question, asked without groups or
        grouped by some of these columns.

        Least squares, weighted by the noise of both: every group of a total moves by the same amount, so that their
        sum is the best estimate from both. Counts are then made whole and not negative with that sum, rounded.
        Intervals stay those of the unadjusted noise.

        It is assumed that groups and totals are of the same rows: each row of a total is in one of its groups. Keys
        that leave some rows out, or null, or another filter break that, and so can `max_rows` and `max_groups`, which
        cut the rows of a unit by what is asked. What was released is held against that: where the groups differ from a
        total by more than noise explains, the answer is refused. Of answers that are of the same rows, at most one in
        10^9 is (`release.contradictions` has the test); a gap that is smaller than the noise is not seen.

        Raises
        ------
        InvalidParameter
            If the total is none, or contradicts the groups.

        Examples
        --------
        >>> import dalenius as dp, pandas as pd
        >>> towns = pd.DataFrame({"town": ["a"] * 500 + ["b"] * 400 + ["c"] * 300})
        >>> s = dp.Session(towns, unit=dp.Unit.rows(), budget=dp.ZCDP(1.0))
        >>> groups = s.release(s.table.group_by("town", keys=["a", "b", "c"]).agg(n=dp.count()), dp.ZCDP(0.1))
        >>> total = s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
        >>> 1100 < sum(groups.agreeing_with(total)["n"].plain) < 1300
        True
        >>> some = s.release(s.table.group_by("town", keys=["a", "b"]).agg(n=dp.count()), dp.ZCDP(0.1))
        >>> some.agreeing_with(total)
        Traceback (most recent call last):
        ...
        dalenius.errors.InvalidParameter: groups and total are not of the same rows: ...
        """
        given: object = total
        if not isinstance(given, Answer) or not set(total.names) < set(self.names):
            raise InvalidParameter(
                f"the total is {total!r}; it must be an answer without groups, or grouped by some of the columns "
                f"{', '.join(map(repr, self.names))}: otherwise the same question."
            )
        if self.reconciled or total.reconciled:
            raise InvalidParameter(
                "the numbers of a cross-table were made to agree with its own margins, so they have noise in common; "
                "ask for all that should agree in one table.cube(...)."
            )
        places = [self.names.index(name) for name in total.names]
        parts: dict[tuple[Any, ...], list[int]] = {}
        for row, key in enumerate(self.keys):
            parts.setdefault(tuple(key[k] for k in places), []).append(row)
        self._check_same_rows(total, parts)
        measures: dict[Any, Noisy] = {}
        for measure, noisy in self.estimated.measures.items():
            other = total.estimated.measures.get(measure)
            if other is None or not measure.adds_up:
                measures[measure] = noisy
                continue
            values = noisy.values.astype(float)
            for row, key in enumerate(total.keys):
                if key not in parts:
                    continue
                rows = parts[key]
                inside, outside = len(rows) * noisy.sigma**2, other.sigma**2
                gap = (other.values[row] - values[rows].sum(axis=0)) * inside / (inside + outside) / len(rows)
                moved = values[rows] + gap
                values[rows] = whole(moved) if measure.whole else moved
            measures[measure] = replace(noisy, values=values)
        return self._adjusted(measures).consistent()

    def _check_same_rows(self, total: Answer, parts: Mapping[tuple[Any, ...], list[int]]) -> None:
        """Refuse a total that the groups contradict, by what was released of both."""
        chances = []
        for measure, noisy in self.released.measures.items():
            other = total.released.measures.get(measure)
            if other is None or not measure.adds_up:
                continue
            gaps: dict[int, list[Reals]] = {}
            for row, key in enumerate(total.keys):
                if rows := parts.get(key):
                    gap = other.values[row] - noisy.values[rows].sum(axis=0)
                    gaps.setdefault(len(rows), []).append(np.ravel(gap))
            for many, found in gaps.items():
                chances.append(log_chances(np.concatenate(found), many, noisy.law, other.law))
        if chances and contradict(np.concatenate(chances)):
            cut = "" if self.plan.unit.is_row else CUT
            raise InvalidParameter(
                "groups and total are not of the same rows: they differ by more than noise does once in 10^9 times. "
                "The keys leave rows out (or null), or a filter differs: list all keys; or ask for the total of the "
                f'rows that are listed, table.filter("{self.names[0]} IN (...)"); or for both at once, '
                f"table.cube({', '.join(map(repr, self.names))}), which sees to it.{cut}"
            )

    def _adjusted(self, measures: dict[Any, Noisy]) -> Answer:
        return replace(self, adjusted=replace(self.released, measures=measures, shown=None))

    @property
    def estimated(self) -> Released:
        """What the estimates are made of."""
        return self.released if self.adjusted is None else self.adjusted

    def bins(self, name: str) -> Sheet:
        """A histogram with a row for each bin: its ends in `lower` and `upper`, then the number of rows in it. Of a
        `top_k`, a row for each place: `place`, the category, then its count.

        The last bin holds its upper end, too; values beyond the ends are in the end bins.
        """
        for asked, aggregate, roles in self.plan.query.parts:
            if asked != name:
                continue
            if isinstance(aggregate, TopK):
                return self._places(name, aggregate.k)
            found = roles["bins"].bins if "bins" in roles and aggregate.tag == "histogram" else None
            if found is None:
                break
            ends = list(itertools.pairwise(found.edges))
            first = [column.name for column in self.columns].index(histogram_labels(name, found.edges)[0])
            made = self.columns[first : first + len(ends)]
            parts: dict[str, Any] = {
                part: np.stack([getattr(column, part) for column in made], axis=1).ravel()
                for part in ("estimate", "error", "low", "high")
            }
            keys = [(*key, *end) for key in self.keys for end in ends]
            return Shaped((*self.names, *ENDS), keys, [replace(made[0], name=name, **parts)], self.note)
        known = [asked for asked, one, _ in self.plan.query.parts if one.tag in ("histogram", TopK.tag)]
        raise UnknownColumn(
            f"there is no histogram and no top_k {name!r} in the answer"
            + (f"; {nearest(str(name), known)}." if known else ".")
        )

    def _places(self, name: str, k: int) -> Sheet:
        chosen = [self[f"{name}_{place}"].estimate for place in range(1, k + 1)]
        counts = [self[f"{name}_{place}_n"] for place in range(1, k + 1)]
        parts: dict[str, Any] = {
            part: np.stack([getattr(column, part) for column in counts], axis=1).ravel()
            for part in ("estimate", "error", "low", "high")
        }
        keys = [
            (*key, place + 1, chosen[place][row]) for row, key in enumerate(self.keys) for place in range(k)
        ]
        return Shaped(
            (*self.names, "place", name), keys, [replace(counts[0], name=f"{name}_n", **parts)], self.note
        )

    def shares(self, name: str, within: str | Iterable[str] = ()) -> Sheet:
        """Counts (or sums) as shares of their total over all groups, or over the groups that agree in `within`.

        A further column `name_share`, with an interval (Fieller's) that knows that a part and its total have noise in
        common.
        """
        noisy, within = self._direct(name), self._key_columns(within)
        if self.reconciled:
            raise InvalidParameter(
                "the numbers of a cross-table were made to agree, so they have noise in common; take shares of the "
                "whole table: table.shares(name, within=...)."
            )
        groups = np.zeros(len(self), dtype=np.int64)
        seen: dict[tuple[Any, ...], int] = {}
        for row, key in enumerate(self.keys):
            part = tuple(value for column, value in zip(self.names, key, strict=True) if column in within)
            groups[row] = seen.setdefault(part, len(seen))
        size = np.bincount(groups).astype(float)[groups]
        whole_of: Reals = np.bincount(groups, weights=noisy.values).astype(float)[groups]
        variance, fourth = np.full(len(self), noisy.variance), noisy.fourth
        # a - v b with b = a + the others: (1 - v) a - v (others).
        c = (variance, -2 * variance, size * variance)
        column = share_column(
            f"{name}_share",
            noisy.values,
            whole_of,
            c,
            lambda v: fourth * ((1 - v) ** 4 + (size - 1) * v**4),
            self.wanted.failure(len(self)),
        )
        return self._with(column)

    def _key_columns(self, within: str | Iterable[str]) -> list[str]:
        listed = [within] if isinstance(within, str) else list(within)
        for column in listed:
            if column not in self.names:
                raise UnknownColumn(
                    f"there is no key column {column!r}; {nearest(column, list(self.names))}."
                )
        return listed

    def ratio(self, top: str, bottom: str, *, per: float = 1.0, name: str | None = None) -> Sheet:
        """A further column: one count or sum over another, `per` so many: `ratio("deaths", "people", per=1000)` is
        called `deaths_per_1000_people`.

        The interval is Fieller's, of the noise of both.
        """
        a, b, per = self._direct(top), self._direct(bottom), checks.positive("per", per)
        if top == bottom:
            raise InvalidParameter("top and bottom are the same column; the ratio is 1.")
        a = a.scaled(per)
        c = (np.full(len(self), a.variance), np.zeros(len(self)), np.full(len(self), b.variance))
        many = "" if per == 1 else f"{per:.15g}_"
        counts = self[top].whole and self[bottom].whole
        within = (0.0 if counts else -FARTHEST, FARTHEST)
        low, high = interval(
            a.values,
            b.values,
            c,
            lambda v: a.fourth + v**4 * b.fourth,
            self.wanted.failure(len(self)),
            within,
        )
        return self._with(
            _ratio_column(
                f"{top}_per_{many}{bottom}" if name is None else name,
                a.values,
                b.values,
                c,
                low,
                high,
                within,
            )
        )

    def _direct(self, name: str) -> Noisy:
        """The noisy numbers behind a count or a sum, in units of the column."""
        for asked, aggregate, roles in self.plan.query.parts:
            if asked == name and isinstance(aggregate, Direct) and len(roles) == 1:
                (measure,) = roles.values()
                if measure.adds_up and measure.bins is None:
                    return self.released.measures[measure].scaled(float(measure.granularity))
        known = [column.name for column in self.columns]
        if name in known:
            raise InvalidParameter(f"{name!r} is no count and no sum; shares and ratios are of these.")
        raise UnknownColumn(f"there is no column {name!r} in the answer; {nearest(str(name), known)}.")

    def _with(self, column: Column) -> Sheet:
        return Shaped(self.names, self.keys, [*self.columns, column], self.note)

    def to_pandas(self) -> Any:
        """A pandas DataFrame; what the answer cost is in its `attrs`."""
        frame = super().to_pandas()
        frame.attrs = {"cost": self.cost, "from_the_record": self.free, "given": self.given}
        return frame

    def __repr__(self) -> str:
        record = f", from the record of {self.given}" if self.free else ""
        return f"<Answer: {len(self)} rows, {len(self.columns)} columns{record}>"

    @property
    def note(self) -> str:
        kind = "all together" if self.wanted.simultaneous else "each"
        what = "noise and sampling (of counts and sums: noise)" if self.wanted.sampling else "noise"
        cost = f"cost: {self.cost}."
        if self.free:
            cost = f"from the record of {self.given}, free now; it cost {self.cost}."
        names = dict.fromkeys(column.name for column in self.columns)
        ranks = [name for name in names if f"{name}_off" in names]
        off = "".join(f" {name}_off: how many rows the rank of {name} may be off." for name in ranks)
        if any(f"{name}_outcome" in names for name in names):
            off += " refused: the data do not bear the proposal, or do so barely."
        gone = f" {self.left_out}" if self.left_out else ""
        return f"{100 * self.wanted.confidence:g} % intervals ({kind}) cover the {what}; {cost}{off}{gone}"


def _moved(column: Column, estimate: Any) -> Column:
    """Another estimate in the interval, which is made longer where it does not hold it."""
    if not column.is_number:
        return replace(column, estimate=estimate)
    low, high = np.fmin(column.low, estimate), np.fmax(column.high, estimate)
    bare = np.isnan(column.low)
    return replace(
        column, estimate=estimate, low=np.where(bare, np.nan, low), high=np.where(bare, np.nan, high)
    )


def share_column(
    name: str,
    part: Reals,
    whole_of: Reals,
    c: tuple[Reals, Reals, Reals],
    fourth: Callable[[Reals], Any],
    failure: float,
) -> Column:
    """Parts of a whole; c: what v^0, v^1 and v^2 are multiplied by in the variance of part - v whole."""
    low, high = interval(part, whole_of, c, fourth, failure, (0.0, 1.0))
    return _ratio_column(name, part, whole_of, c, low, high, (0.0, 1.0))


def _ratio_column(
    name: str,
    a: Reals,
    b: Reals,
    c: tuple[Reals, Reals, Reals],
    low: Reals,
    high: Reals,
    within: tuple[float, float],
) -> Column:
    """An estimate, its standard error to first order, and an interval; no estimate where the bottom is not positive."""
    low, high = (np.where(np.abs(end) >= FARTHEST, np.copysign(np.inf, end), end) for end in (low, high))
    usable = b > 0
    below = np.where(usable, b, 1.0)
    estimate = np.where(usable, np.clip(a / below, *within), np.nan)
    error = np.sqrt(np.maximum(c[0] + c[1] * estimate + c[2] * estimate**2, 0.0)) / below
    return Column(
        name, estimate, error, np.where(usable, low, np.nan), np.where(usable, high, np.nan), optional=True
    )
