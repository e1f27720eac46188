"""A target that public facts say is none is refused before anything is paid, and what is said instead works."""

import re

import numpy as np
import pandas as pd
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded, QueryRefused

FACTS = {
    "hours-per-week": {"bounds": (0, 80)},
    "code": {"categories": [1, 2]},
    "label": {"categories": ["<=50K", ">50K"]},
    "age": {"bounds": (16, 95)},
}
LOGISTIC, LINEAR = dp.learn.LogisticRegression, dp.learn.LinearRegression


@pytest.fixture
def session() -> dp.Session:
    frame = pd.DataFrame({"age": np.arange(16, 96).repeat(5), "pay": np.arange(400.0), "code": [1, 2] * 200})
    frame["hours-per-week"], frame["label"] = frame["age"] - 16, np.where(frame["age"] > 50, ">50K", "<=50K")
    frame["town"], frame["rich"] = frame["label"], frame["age"] > 50
    return dp.Session(frame, unit=dp.Unit.rows(), budget=dp.ZCDP(9.0), schema=dp.Schema(FACTS, nulls="drop"))


@pytest.mark.parametrize(
    ("model", "target", "why"),
    [
        (
            LOGISTIC(dp.ZCDP(0.1)),
            "label",
            r"""is text, .* target="label = '>50K'", .* classes=\('<=50K', '>50K'\)""",
        ),
        (LOGISTIC(dp.ZCDP(0.1)), "town", "is text"),
        (LOGISTIC(dp.ZCDP(0.1), classes=("no", "yes")), "label", "'no' is not among"),
        (LOGISTIC(dp.ZCDP(0.1)), "code", r"0 is not among .*classes=\(1, 2\)"),
        (LOGISTIC(dp.ZCDP(0.1)), "age", 'not within .*target="age > 55.5"'),
        (LOGISTIC(dp.ZCDP(0.1), classes=(-1, 1)), '"hours-per-week"', "-1 is not within"),
        (LINEAR(dp.ZCDP(0.1)), "pay", r"needs bounds.*target=\{'pay': \(lower, upper\)\}"),
        (LINEAR(dp.ZCDP(0.1)), "pay + 1", "needs bounds"),
        (LINEAR(dp.ZCDP(0.1), target_bounds=[-1.0, 1.0]), "pay", "needs bounds"),
        (LINEAR(dp.ZCDP(0.1), target_bounds=None), "pay", "needs bounds"),
        (LOGISTIC(dp.ZCDP(0.1), classes=tuple(np.arange(2))), "age", "not within"),
    ],
)
def test_a_target_that_cannot_be_is_refused(
    session: dp.Session, model: object, target: str, why: str
) -> None:
    other = "town" if isinstance(getattr(model, "classes", (0,))[0], str) else "age >= 50"
    for asked in (target, [target, other]):
        with pytest.raises(QueryRefused, match=f"(?s){why}"):
            session.fit(model, ["age"], asked)
    assert session.remaining == dp.ZCDP(9.0)


@pytest.mark.parametrize("target", ["hours-per-week", '"hours-per-week"'])
def test_bounds_are_the_columns_whatever_quotes_its_name_has(session: dp.Session, target: str) -> None:
    assert session.fit(LINEAR(dp.ZCDP(0.1)), ["age"], target)[-1].target_bounds == (0.0, 80.0)


def test_what_is_said_instead_works(session: dp.Session) -> None:
    model = session.fit(LOGISTIC(dp.ZCDP(0.1), classes=("<=50K", ">50K")), ["age"], "label")
    with pytest.raises(QueryRefused, match="is text"):
        session.evaluate(session.fit(LOGISTIC(dp.ZCDP(0.1)), ["age"], "rich"), ["age"], "town", dp.ZCDP(0.1))
    assert session.evaluate(model, ["age"], "label", dp.ZCDP(1.0)).accuracy.estimate > 0.5
    session.fit(LOGISTIC(dp.ZCDP(0.1), classes=(1, 2)), ["age"], "code")
    session.fit(LOGISTIC(dp.ZCDP(0.1)), ["age"], "age > 55.5")
    assert session.fit(LINEAR(dp.ZCDP(0.1)), ["age"], "age > 55.5")[-1].target_bounds == (-1.0, 1.0)
    for bounds in ((0, 400), [0, 400], np.array([0, 400])):
        chosen = session.fit(LINEAR(dp.ZCDP(0.1), target_bounds=bounds), ["age"], "pay")
        assert chosen[-1].target_bounds == (0, 400)
    for wrong in (5, "x", (1, 2, 3)):
        with pytest.raises(dp.errors.InvalidParameter, match="must be a pair"):
            session.fit(LINEAR(dp.ZCDP(0.1), target_bounds=wrong), ["age"], "pay")


def test_the_budgets_of_refusals_can_be_pasted(session: dp.Session) -> None:
    """Into a session of any kind: what is said is of its kind."""
    for budget in (dp.ApproxDP(3.0, 1e-6), dp.GDP(2.0), dp.PureDP(1.0), dp.ZCDP(1.0)):
        asked = dp.Session(pd.DataFrame({"x": [1, 2]}), unit=dp.Unit.rows(), budget=budget)
        q = asked.table.agg(n=dp.count())
        with pytest.raises(dp.errors.InvalidParameter, match="how accurate") as refused:
            asked.release(q)
        said = re.search(r"budget=dp\.(\w+)\(([^)]*)\)", str(refused.value))
        assert said is not None
        assert asked.release(q, getattr(dp, said[1])(*map(float, said[2].split(", "))))
        with pytest.raises(dp.errors.InvalidParameter, match=r"accuracy=dp.within\(50\.0\)"):
            asked.release(q, dp.within(50))  # type: ignore[arg-type]
        with pytest.raises((BudgetExceeded, dp.errors.InvalidParameter), match=r"^(?!.*accurate)"):
            asked.synthesize({"x": (1, 2)})
