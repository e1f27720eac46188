"""A table with its margins, made to add up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dalenius.core.habits import absent
from dalenius.errors import InvalidParameter
from dalenius.intervals.laws import Noisy
from dalenius.tables.ask.cube import CubeQuery
from dalenius.tables.measures.measure import Measure
from dalenius.tables.release.answer import HINTS, Answer, share_column
from dalenius.tables.release.contradictions import FALSE_ALARM, contradict, log_chances
from dalenius.tables.release.reconcile import Columns, Margins, whole
from dalenius.tables.release.sheet import ADD_UP, Shaped, Sheet
from dalenius.tables.statistics.column import Column

DO_NOT_ADD_UP = (
    "Margins do not add up: they contradict the cells by more than noise, because the rows of a unit are cut "
    "(max_rows, max_groups) in each margin in its own way; everything is as it was released."
)


@dataclass(frozen=True, eq=False)
class CrossTable(Sheet):
    """The cells of a table and its margins, as `cube` and `rollup` ask for them.

    Counts and sums are the best linear estimates from all margins together (`release.reconcile`), and their
    intervals are shorter for it. Counts are shown whole and not negative: the nearest cells that are so and keep
    the total, and margins that are their sums. So what is shown adds up, in every direction.

    Cells and margins are of the same rows, those whose keys are listed in all columns; unless `max_rows` or
    `max_groups` cut the rows of a unit, which they do by what is asked, in each margin in its own way. What was
    released is held against that (`release.contradictions`): where a margin differs from its cells by more than noise
    explains, everything is shown as it was released, and the note says that margins do not add up. Where nothing is
    cut, this happens once in 10^9 tables at most.
    """

    asked: CubeQuery
    answers: tuple[Answer, ...]
    """One for each margin, the cells first."""

    if not TYPE_CHECKING:  # with it type checkers would take every name for one that is there

        def __getattr__(self, name: str) -> NoReturn:
            raise absent("a cross-table", name, dir(type(self)), HINTS)

    @classmethod
    def of(cls, asked: CubeQuery, answers: Iterable[Answer]) -> CrossTable:
        """From the noisy answers as they were released."""
        made = _agreeing(asked, list(answers))
        among = sum(len(answer) * len(answer.columns) for answer in made)
        return cls(
            asked, tuple(replace(answer, wanted=replace(answer.wanted, among=among)) for answer in made)
        )

    @property
    def adds_up(self) -> bool:
        """Whether cells and margins were made to agree: not where they contradict each other by more than noise."""
        return self.cells.reconciled

    @property
    def cost(self) -> str:
        """What cells and margins cost together."""
        return self.cells.cost

    @property
    def free(self) -> bool:
        """Whether this table was on record and cost nothing now."""
        return self.cells.free

    @property
    def given(self) -> str | None:
        """When it was given, for the first time where it was on record."""
        return self.cells.given

    @property
    def cells(self) -> Answer:
        """The cells alone."""
        return self.answers[0]

    def margin(self, *columns: str) -> Answer:
        """The margin that keeps these columns; the total for none."""
        for kept, answer in zip(self.asked.sets, self.answers, strict=True):
            if set(kept) == set(columns) and len(columns) == len(kept):
                return answer
        known = ", ".join(map(repr, self.asked.sets))
        raise InvalidParameter(f"there is no margin by {columns!r}; there are {known}.")

    @property
    def names(self) -> tuple[str, ...]:
        return self.asked.columns

    @cached_property
    def all(self) -> str:
        """What stands in place of a key in a margin: "all", unless a key is called so."""
        word = "all"
        while any(word in listed for listed in self.asked.lists):
            word = f"({word})"
        return word

    @cached_property
    def keys(self) -> list[tuple[Any, ...]]:
        keys = []
        for kept, answer in zip(self.asked.sets, self.answers, strict=True):
            for key in answer.keys:
                found = dict(zip(kept, key, strict=True))
                keys.append(tuple(found.get(name, self.all) for name in self.names))
        return keys

    @cached_property
    def columns(self) -> list[Column]:
        return _below_each_other([answer.columns for answer in self.answers])

    @property
    def note(self) -> str:
        adds = any(measure.adds_up for measure in self.cells.released.measures)
        if not adds:
            return self.cells.note
        return f"{self.cells.note} {ADD_UP if self.adds_up else DO_NOT_ADD_UP}"

    def shares(self, name: str, within: str | Iterable[str] = ()) -> Sheet:
        """The cells with a further column: counts (or sums) as shares of the margin that keeps the columns `within`.

        Cells under one margin are alike: each was asked with the same noise, in the same margins. So each has the same
        covariance with their sum, which is therefore the variance of the sum over their number.
        """
        if not self.adds_up:
            return self.cells.shares(name, within)
        cells, kept = self.cells, self.cells._key_columns(within)
        part, margin = cells._direct(name), self.margin(*kept)
        total = margin._direct(name)
        at = {key: k for k, key in enumerate(margin.keys)}
        place = [self.names.index(column) for column in margin.names]
        rows = np.array([at[tuple(key[k] for k in place)] for key in cells.keys])
        many = len(cells) / len(margin)
        ones = np.ones(len(cells))
        c = (part.variance * ones, -2 * total.variance / many * ones, total.variance * ones)
        column = share_column(
            f"{name}_share",
            part.values,
            total.values[rows],
            c,
            lambda v: part.fourth + v**4 * total.fourth,
            cells.wanted.failure(len(cells)),
        )
        return Shaped(cells.names, cells.keys, [*cells.columns, column], cells.note)

    def ratio(self, top: str, bottom: str, *, per: float = 1.0, name: str | None = None) -> Sheet:
        """A further column, in cells and margins: one count or sum over another, `per` so many; see `Answer.ratio`.

        Different measures have noise of their own, before they were made to agree and after.
        """
        return self._stacked([answer.ratio(top, bottom, per=per, name=name) for answer in self.answers])

    def bins(self, name: str) -> Sheet:
        """A histogram with a row for each bin of each cell and margin; see `Answer.bins`."""
        return self._stacked([answer.bins(name) for answer in self.answers])

    def _stacked(self, parts: list[Sheet]) -> Sheet:
        """What was made of each margin, one below the other."""
        keys: list[tuple[Any, ...]] = []
        for kept, part in zip(self.asked.sets, parts, strict=True):
            for key in part.keys:
                found = dict(zip(kept, key, strict=False))
                keys.append((*(found.get(column, self.all) for column in self.names), *key[len(kept) :]))
        names = (*self.names, *parts[0].names[len(self.names) :])
        return Shaped(names, keys, _below_each_other([part.columns for part in parts]), self.note)

    def at(self, confidence: float | None = None, **wanted: bool) -> CrossTable:
        """The same with other intervals; see `Answer.at`."""
        return replace(self, answers=tuple(answer.at(confidence, **wanted) for answer in self.answers))

    def __repr__(self) -> str:
        return f"<CrossTable by {', '.join(self.names)}: {len(self.cells)} cells, {len(self.answers) - 1} margins>"


def _below_each_other(parts: list[list[Column]]) -> list[Column]:
    return [
        replace(
            same[0],
            **{
                part: np.concatenate([getattr(column, part) for column in same])
                for part in ("estimate", "error", "low", "high")
            },
            optional=any(column.optional for column in same),
        )
        for same in zip(*parts, strict=True)
    ]


def _agreeing(asked: CubeQuery, answers: list[Answer]) -> list[Answer]:
    margins = Margins.of(asked)
    sets = margins.sets
    if _contradictory(margins, answers):
        return answers
    best: list[dict[Measure, Noisy]] = [dict(answer.released.measures) for answer in answers]
    shown: list[dict[Measure, Noisy]] = [dict(part) for part in best]
    for measure in best[0]:
        if not measure.adds_up or any(measure not in part for part in best):
            continue
        made = margins.reconciled({kept: part[measure] for kept, part in zip(sets, best, strict=True)})
        cells = whole(made[sets[0]].values) if measure.whole else None
        for kept, part, look in zip(sets, best, shown, strict=True):
            part[measure] = look[measure] = made[kept]
            if cells is not None:
                look[measure] = replace(made[kept], values=_summed(cells, margins.sizes, kept))
    return [
        replace(
            answer,
            released=replace(answer.released, measures=part, shown=None),
            adjusted=replace(answer.released, measures=look, shown=None),
            reconciled=True,
        )
        for answer, part, look in zip(answers, best, shown, strict=True)
    ]


def _contradictory(margins: Margins, answers: list[Answer]) -> bool:
    """Whether a margin differs from the sums of its cells by more than noise. Gaps of one margin have noise of their
    own each; those of different margins share that of the cells, so each margin is looked at by itself."""
    cells = answers[0].released.measures
    for kept, answer in list(zip(margins.sets, answers, strict=True))[1:]:
        many = math.prod(size for i, size in enumerate(margins.sizes) if i not in kept)
        chances = []
        for measure, noisy in cells.items():
            other = answer.released.measures.get(measure)
            if other is not None and measure.adds_up:
                gaps = other.values - _summed(noisy.values, margins.sizes, kept)
                chances.append(log_chances(gaps.ravel(), many, noisy.law, other.law))
        if chances and contradict(np.concatenate(chances), FALSE_ALARM / (len(answers) - 1)):
            return True
    return False


def _summed(cells: Any, sizes: tuple[int, ...], kept: Columns) -> Any:
    """A margin of cells, which have one axis, and perhaps one of bins."""
    table = cells.reshape(*sizes, *cells.shape[1:])
    left = table.sum(axis=tuple(i for i in range(len(sizes)) if i not in kept))
    return left.reshape(-1, *cells.shape[1:])
