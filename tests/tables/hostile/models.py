"""Models fitted to a hostile table and evaluated on it, and several questions in one plan: what they look like, and the
rows and counts that reach the mechanisms.

A fit sees rows, of which one unit may change so many; what a mechanism makes of rows is tested where it is. Scales that
are found are replaced by public ones once they were released: with others, all rows would be others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

import dalenius as dp
from dalenius.learn.methods.noisy_bounds import NoisyBounds
from dalenius.learn.methods.noisy_moments import NoisyMoments
from dalenius.learn.saved import asked_fitted, model_record
from dalenius.session.evaluating import Evaluating
from dalenius.tables.compute import exact
from dalenius.tables.plan.plan import groups
from dalenius.tables.plan.sensitivity import sensitivity
from tests.tables.hostile.made import Make, Makers, Measured, Names

THREE = ("p", "q", "é")


@contextmanager
def watched(unit: dp.Unit) -> Iterator[list[Measured]]:
    """Rows that a fit reads, counts of an evaluation, and the integers of questions."""
    seen: list[Measured] = []
    most = 1 if unit.is_row else unit.max_rows
    rows, blocks, evaluate = exact.rows, exact.blocks, exact.evaluate
    counted, bounds, moments = Evaluating.counted, NoisyBounds.release, NoisyMoments.release

    def note(what: str, read: list[Any]) -> None:
        table = np.concatenate([np.empty((0, read[0].shape[1])), *read]) if read else np.empty((0, 0))
        seen.append(Measured(f"{what} of {table.dtype}", Counter(map(np.ndarray.tobytes, table)), most))

    def held(*asked: Any) -> Any:
        found = rows(*asked)
        note("rows", [found])
        return found

    def one_by_one(*asked: Any) -> Iterator[Any]:
        read = []
        for block in blocks(*asked):
            read.append(block)
            yield block
        note("rows", read)

    def answered(source: Any, query: Any, own: dp.Unit, *more: Any) -> Any:
        table = evaluate(source, query, own, *more)
        for measure, values in table.values.items():
            what = f"{measure.kind} of {values.dtype} {values.shape}"
            allowed = sensitivity(measure, own, dp.ADD_REMOVE, groups(query) * measure.size).l1
            seen.append(Measured(what, Counter(dict(enumerate(values.ravel().tolist()))), int(allowed)))
        return table

    def counts(self: Evaluating, given: Any) -> Any:
        found = counted(self, given)
        what = f"counts of {found.dtype} {found.shape}"
        seen.append(Measured(what, Counter(dict(enumerate(found.ravel().tolist()))), most))
        return found

    def ends(self: NoisyBounds, found: Any, within: Any) -> Any:
        bounds(self, found, within)
        return np.zeros(len(found)), np.ones(len(found))

    def spreads(self: NoisyMoments, read: Any) -> Any:
        moments(self, read)
        return np.full(len(self.bounds), 0.5), np.full(len(self.bounds), 0.25)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact, "rows", held)
        patch.setattr(exact, "blocks", one_by_one)
        patch.setattr(exact, "evaluate", answered)
        patch.setattr(Evaluating, "counted", counts)
        patch.setattr(NoisyBounds, "release", ends)
        patch.setattr(NoisyMoments, "release", spreads)
        yield seen


def _numbers(names: Names) -> dict[str, Any]:
    """As many numbers as it takes for a product of matrices to add them up in several ways."""
    plain = {names["x"]: (0, 1), names["h"]: (0, 40), names["i"]: (-5, 7), names["y"]: (0, 1e30)}
    return plain | {names["f"]: (-2, 2), names["dec"]: (-10, 2), names["g"]: (0, 3)}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _filled(names: Names) -> dict[str, Any]:
    """The same with their bounds; few hostile rows have all of them, so all but one are filled."""
    (first, ends), *others = _numbers(names).items()
    return {first: ends} | {f"COALESCE({_quoted(name)}, 1)": pair for name, pair in others}


def a_fit(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    model = dp.learn.LogisticRegression(price, class_weight={0: 1, 1: 7.5})
    return _shown(session.fit(model, _filled(names), f"{_quoted(names['x'])} > 0.5"))


def a_fit_with_categories(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    features = {names["x"]: (0, 1), names["k"]: [*THREE], names["flag"]: (0, 1)}
    return _shown(session.fit(dp.learn.HuberRegression(price), features, {names["h"]: (0, 40)}))


def a_pipeline(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    part = price.divided(3) if hasattr(price, "divided") else price
    model = Pipeline(
        [
            ("bounds", dp.learn.PrivateBounds(part)),
            ("scale", dp.learn.PrivateScaler(part)),
            ("model", dp.learn.LogisticRegression(part)),
        ]
    )
    made = session.fit(model, [names["x"], names["y"], names["i"]], f"{_quoted(names['h'])} > 5")
    return _shown(made)


def several_targets(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    h, x = _quoted(names["h"]), _quoted(names["x"])
    made = session.fit(dp.learn.LogisticRegression(price), {names["x"]: (0, 1)}, [f"{h} > 5", f"{x} > {h}"])
    return f"{list(made)} {[_shown(one) for one in made.values()]}"


def several_classes(session: dp.Session, names: Names, roles: list[str], price: Any) -> str:
    kind = dp.learn.OneVsRest if len(roles) > 2 else dp.learn.MultinomialRegression
    model = kind(price, classes=THREE, class_weight={"p": 3})
    return _shown(session.fit(model, {names["x"]: (0, 1), names["h"]: (0, 40)}, names["k"]))


@cache
def _crafted(kind: str, columns: tuple[tuple[float, float], ...]) -> Any:
    """A model as anybody may send one: scores that cancel but for what their order makes of them."""
    random = np.random.default_rng(len(columns))
    several = kind == "OneVsRest"
    model = getattr(dp.learn, kind)(dp.ZCDP(0.1), **({"classes": THREE} if several else {}))
    coefficients = random.normal(size=(3 if several else 1, len(columns))) * 1e18

    def array(values: Any) -> dict[str, Any]:
        return {
            "type": "number",
            "shape": list(values.shape),
            "values": [repr(float(x)) for x in values.ravel()],
        }

    record = {
        "features": model_record(dp.learn.PublicBounds(columns), arrays=True),
        "model": model_record(model, arrays=True),
        "released": {"coefficients": array(coefficients), "intercept": array(np.zeros(len(coefficients)))},
    }
    return asked_fitted(record)


def an_evaluation(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    return _evaluated(session, names, price, "LogisticRegression", f"{_quoted(names['k'])} IS NULL")


def an_evaluation_of_classes(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    return _evaluated(session, names, price, "OneVsRest", names["k"])


def _evaluated(session: dp.Session, names: Names, price: Any, kind: str, target: str) -> str:
    columns = _filled(names)
    made = session.evaluate(_crafted(kind, tuple(columns.values())), list(columns), target, price)
    return f"{made.counts.shape} {made.counts.dtype} {made.classes} {made.law}"


def several_questions(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    groups_ = session.table.group_by(names["k"], keys=[*THREE])
    made = session.release_all(
        {
            "rows": session.table.agg(n=dp.count(), x=dp.mean(names["x"], bounds=(0, 1))),
            "by k": groups_.agg(h=dp.sum(names["h"], bounds=(0, 40)), x=dp.histogram(names["x"], 4, (0, 1))),
        },
        price,
    )
    return str({name: (one.keys, one.to_pandas().shape, one.cost, one.free) for name, one in made.items()})


def a_cross_table(session: dp.Session, names: Names, _roles: list[str], price: Any) -> str:
    keys = {names["k"]: [*THREE], names["flag"]: [True, False]}
    cube = session.table.cube(names["k"], names["flag"], keys=keys)
    made = session.cross_table(cube.agg(n=dp.count(), x=dp.sum(names["x"], bounds=(0, 1))), price)
    return f"{made.keys} {made.to_pandas().shape}"


def _shown(model: Any) -> str:
    told = {name: np.shape(value) for name, value in vars(model[-1]).items() if name.endswith("_")}
    return f"{told} {model[-1].loss_} {model[0].bounds}"


MODELS: dict[str, Make] = {
    "a fit with class weights": a_fit,
    "a fit with categories": a_fit_with_categories,
    "a fit of a pipeline": a_pipeline,
    "fits of several targets": several_targets,
    "a fit of several classes": several_classes,
    "an evaluation": an_evaluation,
    "an evaluation of classes": an_evaluation_of_classes,
    "several questions in one plan": several_questions,
    "a cross table": a_cross_table,
}

MAKERS = Makers(MODELS, watched)
