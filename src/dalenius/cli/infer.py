"""`dalenius infer`: a regression or an estimate with intervals, or a test, from a table and paid from a ledger."""

from __future__ import annotations

import ast
from dataclasses import MISSING, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from dalenius.cli.commands import command
from dalenius.cli.forms import Form
from dalenius.cli.promises import read_promise
from dalenius.cli.show import print_json, working
from dalenius.cli.tables import BUDGET, Opened
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.calculus.guarantees import Guarantee
    from dalenius.infer import Result, TestResult
    from dalenius.session.session import Session


PROMISED = ("guarantee", "adjacency")
"""Settings that --budget and the ledger decide."""


def _kinds(incomplete: str) -> list[str]:
    """Those that begin like this, for completion in a shell."""
    from dalenius.session.record.estimators import KNOWN

    return [kind for kind in KNOWN if kind.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True)
class Estimated:
    """What is estimated or tested, of which columns."""

    kind: str = typer.Argument(
        metavar="KIND",
        help="linear_regression, ..., mean, quantiles, ..., mean_test, anova, ...",
        autocompletion=_kinds,
    )
    feature: list[str] = typer.Option(
        metavar="COLUMN", help='With bounds where the schema has none: "age, 18, 90". Repeatable.'
    )
    target: str | None = typer.Option(None, metavar="COLUMN", help="Likewise.")
    where: str | None = typer.Option(None, metavar="CONDITION", help="Only rows that satisfy this.")
    setting: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help='As in "knee=8", "bounds=0, 100", "levels=a, b". Repeatable.'
    )
    price: bool = typer.Option(False, "--price", help="Say what it would cost, and stop.")

    def estimator(self, budget: str | None) -> Any:
        """With its settings; without a budget, a function that makes it from a promise."""
        from dalenius import infer
        from dalenius.session.record.estimators import FIELDS, KNOWN
        from dalenius.tables.facts.nearest import nearest

        if self.kind not in KNOWN:
            raise InvalidParameter(f"there is no {self.kind!r} to infer; {nearest(self.kind, KNOWN)}.")
        name, words = KNOWN[self.kind][0], [word for word in KNOWN[self.kind][1] if word not in PROMISED]
        given: dict[str, Any] = {}
        for each in self.setting:
            word, equals, value = (part.strip() for part in each.partition("="))
            if not equals or word not in words:
                raise InvalidParameter(f"--set {each!r} sets nothing; {nearest(word, words)}.")
            given[FIELDS.get((self.kind, word), word)] = _value(value)
        kind = getattr(infer, name)
        missing = [word for word in words if word not in given and _is_needed(kind, word)]
        if missing:
            raise InvalidParameter(
                f"{self.kind} needs {' and '.join(missing)}: "
                + ", ".join(f'--set "{word}=..."' for word in missing)
                + "."
            )
        if budget is None:
            return partial(_made, kind, given)
        return kind(guarantee=read_promise(budget), **given)

    def columns(self) -> dict[str, Any]:
        """For `Session.infer`."""
        target = None if self.target is None else _columns([self.target])
        return {"features": _columns(self.feature), "target": target}


def infer(opened: Opened, asked: Estimated, form: Form, budget: str | None = BUDGET) -> None:
    """A regression or an estimate with intervals, or a test.

    Features and target are columns or expressions; the first sample of a test of two is where the feature, a
    condition, holds. The ledger is charged what the estimator promises; the same question is answered from it
    for nothing.

    \b
    JSON keys of estimates: names, estimates, errors, low, high (95 %), p, reason, notes, cost, remaining.
    JSON keys of a test: test, hypothesis, statistic, p, estimates, notes, cost, remaining.
    """
    session, estimator = opened.session(budget), asked.estimator(budget)
    table = session.table if asked.where is None else session.table.filter(asked.where)
    if asked.price:
        if budget is None:
            raise InvalidParameter("--price is of what an estimator promises; say --budget.")
        price = session.price(estimator, **asked.columns(), table=table)
        content = {"budget": repr(price.budget), "affordable": price.affordable, "times": price.times}
        if form.as_json:
            print_json(content, indent=None)
        elif form.is_table:
            form.print(list(content), [list(content.values())])
        else:
            print(price)
        return
    before = session.remaining
    with working(f"Asking {opened.data}"):
        result = session.infer(estimator, **asked.columns(), table=table)
    if form.as_json:
        print_json({**_content(result), **_paid(result, session)}, indent=None)
        return
    on_record = "From the ledger, at no cost now. " if session.remaining == before else ""
    left = f"{on_record}Left: {session.left_in_words()}"
    if form.is_table:
        form.print(*_table(_content(result)))
        form.aside("\n".join([*result.notes, left]))
    else:
        print(f"{result.summary()}\n{left}")


def _made(kind: Any, settings: dict[str, Any], promise: Guarantee) -> Any:
    return kind(guarantee=promise, **settings)


def _table(content: dict[str, Any]) -> tuple[list[str], list[list[Any]]]:
    """Estimates as rows, or the results of a test one below the other."""
    if "names" in content:
        columns = [name for name in content if name not in ("names", "reason")]
        rows = zip(content["names"], *(content[name] for name in columns), strict=True)
        return ["name", *columns], [list(row) for row in rows]
    found = {name: value for name, value in content.items() if name != "estimates"} | content["estimates"]
    return ["name", "value"], [list(pair) for pair in found.items()]


def _is_needed(kind: type, word: str) -> bool:
    """Whether nothing can be asked without this setting."""
    default = next((each.default for each in fields(kind) if each.name == word), None)
    return default is MISSING or default == ()


def _content(result: Result | TestResult) -> dict[str, Any]:
    from dalenius.infer import TestResult

    if isinstance(result, TestResult):
        return {
            "test": result.method,
            "hypothesis": result.hypothesis,
            "statistic": result.statistic,
            "p": result.pvalue,
            "estimates": result.estimates,
        }
    low, high = result.conf_int().T
    numbers = {
        "estimates": result.params,
        "errors": result.bse,
        "low": low,
        "high": high,
        "p": result.pvalues,
    }
    return {
        "names": list(result.names),
        **{name: [float(x) for x in values] for name, values in numbers.items()},
        "reason": result.reason,
    }


def _paid(result: Result | TestResult, session: Session) -> dict[str, Any]:
    from dalenius.infer.summary import privacy

    cost = None if result.loss is None else privacy(result.loss)
    return {"notes": list(result.notes), "cost": cost, "remaining": repr(session.remaining)}


def _columns(given: list[str]) -> dict[str, Any]:
    """Expressions, each with its bounds or None."""
    found: dict[str, Any] = {}
    for text in given:
        parts = [part.strip() for part in text.rsplit(",", 2)]
        ends = [_value(part) for part in parts[1:]]
        is_bounded = len(ends) == 2 and all(isinstance(end, int | float) for end in ends)
        column = parts[0] if is_bounded else text.strip()
        if column in found:
            raise InvalidParameter(f"{column} is named twice.")
        found[column] = tuple(ends) if is_bounded else None
    return found


def _value(text: str) -> Any:
    """A number, true or false, or text; several in a list."""
    if "," in text:
        return tuple(_value(part.strip()) for part in text.split(","))
    try:
        value = ast.literal_eval({"true": "True", "false": "False"}.get(text.lower(), text))
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float | str) else text


def add_to(app: typer.Typer) -> None:
    """Put the command into the program."""
    command(app)(infer)
