"""Bounds, means and deviations of features that are found in the session's table, as steps before a model.

    Pipeline([("bounds", dp.learn.PrivateBounds(promise)), ("model", dp.learn.LogisticRegression(promise))])

Every step releases numbers from the rows as the session's engine bounds them, at most `max_rows` of a unit, and is
paid for all of them; with the model it is one question with one charge. `PrivateBounds` finds the bounds of features
that have none, from exact counts of bins that the engine makes; `PrivateScaler` finds mean and deviation of all
numbers, from rows on the grid of their bounds. What comes out are bounds again, whatever the data: never equal,
inverted or infinite, and always on a grid that the engines have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from dalenius.errors import InvalidParameter
from dalenius.learn.data.ranges import Range, checked_range
from dalenius.learn.models.found_bounds import FoundBounds
from dalenius.learn.models.private_bounds import PrivateBounds
from dalenius.learn.models.private_scaler import PrivateScaler
from dalenius.session.columns import column_of
from dalenius.session.features import Features
from dalenius.tables.aggregates import bounds as bounds_of
from dalenius.tables.aggregates import histogram
from dalenius.tables.aggregates import sum as sum_of
from dalenius.tables.aggregates.aggregate import Aggregate
from dalenius.tables.aggregates.bounds import FindBounds
from dalenius.tables.aggregates.sum import Sum
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.compute import exact
from dalenius.tables.compute.source import Source
from dalenius.tables.facts.unit import Unit
from dalenius.tables.measures.gridding import FARTHEST, SUM_STEPS

Steps = tuple[FoundBounds, ...]


def separated(model: Any) -> tuple[Steps, Any]:
    """The steps before a model that find its scale, and the model: of a pipeline; of anything else, none."""
    if not isinstance(model, Pipeline):
        return (), model
    *steps, last = (step for _, step in model.steps or [("", None)])
    kinds = [type(step) for step in steps]
    if kinds not in ([PrivateBounds], [PrivateScaler], [PrivateBounds, PrivateScaler]):
        named = ", ".join(kind.__name__ for kind in kinds) or "none"
        raise InvalidParameter(
            f"the steps before the model are {named}; a session pays for "
            "PrivateBounds, PrivateScaler, or both in this order. Public bounds and categories are said with the "
            "features: features={'age': (18, 90)}."
        )
    for step in steps:
        if isinstance(step, PrivateScaler) and step.bounds is not None:
            raise InvalidParameter(
                "PrivateScaler has bounds of its own; in a session they are those of the features: leave them out, and "
                "say features={'age': (18, 90)}."
            )
    return tuple(steps), last


def asked(steps: Steps, columns: Features, table: Table) -> dict[str, Aggregate]:
    """What stands for the features in the question: sums, and bounds to be found where `PrivateBounds` finds some."""
    finder = next((step for step in steps if isinstance(step, PrivateBounds)), None)
    scope, wanted = table.scope(), {}
    for n, (text, ends) in enumerate(columns.sums):
        known = ends is not None or scope.bounds(text, f"feature {text!r}") is not None
        found: Aggregate = (
            column_of("feature", text, ends)
            if known or finder is None
            else bounds_of(text, share=finder.share)
        )
        wanted[f"feature {n}"] = found
    if finder is not None:
        lacking = [one for one in wanted.values() if isinstance(one, FindBounds)]
        if not lacking:
            raise InvalidParameter(
                "every feature has public bounds, and PrivateBounds would be paid for nothing: leave it out."
            )
        finder.edges(len(lacking))
    return wanted


def check(steps: Steps, query: Query, listed: Sequence[Any]) -> None:
    """Refuse public bounds that a scaler cannot start from; the query has those of the schema in it."""
    if any(isinstance(step, PrivateScaler) for step in steps):
        features = [aggregate for _, aggregate in query.aggregates[:-1]]
        for n in numbers(listed):
            feature = features[n]
            if isinstance(feature, Sum):
                checked_range(f"the bounds of {feature.column}", feature.bounds)


def numbers(listed: Sequence[Any]) -> list[int]:
    """Which of the sums are numbers, and not categories of a column."""
    places, at = [], 0
    for categories in listed:
        if categories is None:
            places.append(at)
        at += 1 if categories is None else len(categories)
    return places


def found(steps: Steps, query: Query, listed: Sequence[Any], unit: Unit, source: Source) -> list[Range]:
    """The bounds of every sum in the end: of the public ones as they are, of the others as they are released here."""
    features = [aggregate for _, aggregate in query.aggregates[:-1]]
    ends: list[Any] = [one.bounds if isinstance(one, Sum) else None for one in features]
    for step in steps:
        made = clone(step)
        if isinstance(made, PrivateBounds):
            places = [n for n, one in enumerate(features) if isinstance(one, FindBounds)]
            made.fit_counts(_counts(made, [features[n] for n in places], query.table, unit, source))
        elif isinstance(made, PrivateScaler):
            places = numbers(listed)
            made.set_params(bounds=[ends[n] for n in places])
            rows = query.table.agg(**{f"feature {n}": _sum(features[n], ends[n]) for n in places})
            made.fit_blocks(exact.blocks(source, rows, unit), len(places))
        for n, pair in zip(places, made.ends_, strict=True):
            ends[n] = pair
    return ends


def _counts(
    finder: PrivateBounds, features: Sequence[Any], table: Table, unit: Unit, source: Source
) -> list[Any]:
    """Exact counts of the bins of every feature.

    Each is a question of its own, which keeps its own rows of a unit where these are too many, but never more than
    `max_rows`. The first of these rows of every feature, the second, and so on, are as good as so many whole rows of
    the unit: what it moves all counts by is what `max_rows` rows move them by.
    """
    counted = []
    for feature, edges in zip(features, finder.edges(len(features)), strict=True):
        query = table.agg(bins=histogram(feature.column, edges=edges, nulls=feature.nulls))
        ((_, measure),) = query.roles[0]
        counted.append(np.asarray(exact.evaluate(source, query, unit)[measure][0], dtype=np.int64))
    return counted


def with_bounds(query: Query, ends: Sequence[Range]) -> Query:
    """The question with sums between these bounds for its features, and its target as it is."""
    *features, (last, target) = query.aggregates
    sums = {name: _sum(one, pair) for (name, one), pair in zip(features, ends, strict=True)}
    return query.table.agg(**sums, **{last: target})


def _sum(feature: Any, ends: Range) -> Sum:
    """A feature between bounds that came out of a release: on a grid for whichever they are."""
    if isinstance(feature, Sum) and feature.bounds == ends:
        return feature
    low, high = ends
    most, step = max(abs(low), abs(high)), None
    if most > 2.0**FARTHEST:  # there whole numbers, too, are on a grid of more than 1
        step = Fraction(2) ** max(math.frexp(high - low)[1] - SUM_STEPS, math.frexp(most)[1] - FARTHEST)
    return sum_of(feature.column, ends, nulls=feature.nulls, granularity=step)
