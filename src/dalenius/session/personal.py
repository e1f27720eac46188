"""What everything that a session's account has released cost one person.

Each charge of the ledger is one release, in order, and gets its share of the failure probability: so the report holds
at whatever moment it is asked for, though questions were chosen by earlier answers. Fits by objective perturbation or
from noisy statistics are bounded for the person's own record; everything else, by what it was charged. The budget
itself is a ceiling.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dalenius.adaptive import PrivacyReport
from dalenius.adaptive.personal.release import Release
from dalenius.adaptive.personal.worst_case import WorstCase
from dalenius.calculus import losses
from dalenius.calculus.guarantees import Filter
from dalenius.calculus.guarantees.amounts import declared_at_least, declared_root_at_least
from dalenius.calculus.guarantees.cost import Cost, currency_of
from dalenius.core.adjacency import ADD_REMOVE
from dalenius.core.record import text
from dalenius.session.account import Account, read_cost
from dalenius.session.chain import BATCH
from dalenius.session.columns import of_a_unit
from dalenius.session.standing import sums_of
from dalenius.tables.rows.steps import Compute

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from dalenius.session.aim import Aim
    from dalenius.session.fit import Fitting
    from dalenius.session.fit_targets import FittingTargets


def release_of_fit(
    fitting: Fitting | FittingTargets,
    fitted: Pipeline | dict[str, Pipeline],
    meanings: dict[str, str],
    pays: Filter,
) -> tuple[Release, ...]:
    """The fit as releases, one of which knows a person's share; none where there is but the worst case.

    Steps before the model that found its scale are releases of their own, by their worst case: given what they
    released, the model is fitted to rows on a scale that is known, and the two losses add up. So are the models of
    several targets, each with noise of its own and its part of the promise.

    meanings: what computed and joined columns stand for in the fits so far, and of which table each name was asked;
    those of this one are added. A person gives one value for a name: where it stands for another thing here, there is
    the worst case.

    Values were put on a grid before the fit: a row moves by half a step of its widest column at most. Where rows are
    normalized after that, a small row may turn anywhere: there is no such bound.
    """
    from dalenius.session.fit_targets import FittingTargets

    if fitting.loss.adjacency is not ADD_REMOVE or fitting.model.get_params().get("rows") == "normalize":
        return ()
    if fitting.query.table.is_per_unit:  # a row is then no longer a record of the person
        return ()
    here = dict(_meanings(fitting))
    if any(meanings.get(name, meant) != meant for name, meant in here.items()):
        return ()
    meanings.update(here)
    if isinstance(fitting, FittingTargets):
        assert isinstance(fitted, dict)
        return _of_targets(fitting, fitted)
    assert not isinstance(fitted, dict)
    before = [
        WorstCase(of_a_unit(step.price(), fitting.unit, ADD_REMOVE, pays), type(step).__name__)
        for step in fitting.steps
    ]
    if before:
        fitting = fitting.within(_ends(fitting, fitted[0].bounds))
    *features, target = (dict(role)["sum"].values[0] for role in fitting.query.roles)
    found = _of_one(fitting, fitting.aim, fitted[-1], features, target)
    return () if found is None else (*before, found)


def _of_targets(fitting: FittingTargets, fitted: dict[str, Pipeline]) -> tuple[Release, ...]:
    """A release of each target, with noise of its own. A `LinearRegression` has one X^T X for all: the worst case."""
    from dalenius.learn.models.linear_regression import LinearRegression

    if isinstance(fitting.model, LinearRegression):
        return ()
    values = [dict(role)["sum"].values[0] for role in fitting.query.roles]
    first = len(values) - len(fitting.aims)
    found = [
        _of_one(fitting, aim, fitted[name][-1], values[:first], target)
        for (name, aim), target in zip(fitting.aims.items(), values[first:], strict=True)
    ]
    known = [release for release in found if release is not None]
    return tuple(known) if len(known) == len(found) else ()


def _of_one(
    fitting: Fitting | FittingTargets, aim: Aim, model: Any, features: list[Any], target: Any
) -> Release | None:
    """The fit of one model as a release that knows a person's share; None where there is but the worst case."""
    from dalenius.learn.models.reported import release_of

    labels = aim.model.get_params()
    if aim.has_codes or len(labels.get("classes", (0, 1))) != 2:
        return None
    spread = (target.upper - target.lower) / 2 if "target_bounds" in labels else 1.0
    columns = tuple(zip(fitting.names, fitting.listed, strict=True)) if any(fitting.listed) else None
    wider = math.sqrt(len(features) / len(fitting.names)) if columns else 1.0
    # A category is there or not, and is mapped to 1 or 0 as it is.
    ends = [
        (-1.0, 1.0) if hot else (value.lower, value.upper)
        for value, hot in zip(features, _hot(fitting.listed), strict=True)
    ]
    found = release_of(
        model,
        [_name(value) for value in features],
        _name(target),
        ends,
        1 if fitting.unit.column is None else fitting.unit.max_rows,
        wider * max(_step(value) / (value.upper - value.lower) for value in features),
        _step(target) / 2 / spread,
        columns,
    )
    return None if found.fields is None else found


def _ends(fitting: Fitting, bounds: Iterable[Any]) -> list[Any]:
    """The bounds of every number of a row, from those of every column; categories keep their own."""
    numbers = iter([aggregate for _, aggregate in fitting.query.aggregates[:-1]])
    own = [
        (pair, [next(numbers) for _ in listed or (None,)], listed)
        for pair, listed in zip(bounds, fitting.listed, strict=True)
    ]
    return [pair if listed is None else one.bounds for pair, here, listed in own for one in here]  # type: ignore[attr-defined]


def _hot(listed: Iterable[tuple[Any, ...] | None]) -> list[bool]:
    """Of every number of a row, whether it is one of several categories of a column."""
    return [each for one in listed for each in ([False] if one is None else [True] * len(one))]


def _meanings(fitting: Fitting | FittingTargets) -> Iterator[tuple[str, str]]:
    """What each column stands for that is not one of the data, and the table of whatever a person is asked for."""
    table = fitting.query.table
    for step in table.steps:
        for name in [step.name] if isinstance(step, Compute) else [field.name for field in step.added]:
            yield f"column {name}", text(step.record())
    asked = [name for _, aggregate in fitting.query.aggregates for name in aggregate.arguments]
    for name in (*asked, *fitting.names):
        yield f"table of {name}".replace('"', ""), table.name


def _name(value: Any) -> str:
    """What a person would call a column: without the quotes of the canonical expression."""
    shown = str(value.text)
    bare = shown[1:-1]
    return bare if shown == f'"{bare}"' and '"' not in bare else shown


def _step(value: Any) -> float:
    """One step of the grid; none where the column's own numbers are on it."""
    return 0.0 if value.exact else float(value.granularity)


def report(account: Account, fits: Mapping[str, tuple[Release, ...]]) -> PrivacyReport:
    """For everything charged so far. `fits`: those known in detail, by the digest of their question."""
    releases = [
        release
        for n, (key, cost) in enumerate(_charges(account), start=1)
        for release in fits.get(key) or (worst_case(account.filter, cost, f"release {n}"),)
    ]
    # The most that may ever be open, and not what is open now: a steward may have moved that by the answers.
    most = account.state().most
    return PrivacyReport(releases, more=True, ceiling=worst_case(account.filter, most, "the budget"))


def _charges(account: Account) -> Iterator[tuple[str, Cost]]:
    """Key and cost of every charge that was one, in order."""
    seq, nothing = 0, account.filter.nothing
    if account.balance().total == nothing:  # and perhaps no ledger yet
        return
    while True:
        with account.ledger.reading() as rows:
            batch = rows.tail(seq + 1, BATCH)[1]
        for entry in batch:
            if entry.kind == "charge" and entry.account == account.seq:
                cost = read_cost(sums_of(entry.content()["cost"]), account.filter)
                if cost != nothing:
                    yield entry.key, cost
        if not batch:
            return
        seq = batch[-1].seq


def worst_case(filter: Filter, cost: Cost, name: str) -> WorstCase:
    """The worst release of this cost."""
    if not currency_of(filter.kind).is_box:
        return WorstCase(filter.spent(cost).loss(filter.adjacency), name)
    mu, delta = declared_root_at_least(cost.amount), declared_at_least(cost.delta)
    loss = losses.gdp(mu, filter.adjacency) + losses.approx(0.0, delta, filter.adjacency)
    return WorstCase(
        loss, name, math.nextafter(declared_at_least(cost.shift), math.inf) if cost.shift else 0.0
    )
