"""`dalenius query | sql | price`: private answers from a table, paid from a ledger."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dalenius.cli.frame import EXIT_CODES, AsJson
from dalenius.cli.options import with_shared_options
from dalenius.cli.promises import read_promise
from dalenius.cli.show import plain_number, working
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.session.ledger import Ledger
    from dalenius.session.session import Session
    from dalenius.tables.ask.query import Query
    from dalenius.tables.release.answer import Answer

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A CSV, Parquet, DuckDB or SQLite file, or a postgresql:// URL.")
]
Table = Annotated[str | None, typer.Option("--table", help="The table, in a database.")]
UnitColumn = Annotated[
    str | None,
    typer.Option("--unit", metavar="ID", help="The column that tells people apart. [default: each row]"),
]
MaxRows = Annotated[int, typer.Option("--max-rows", help="Rows of one unit that count.")]
MaxGroups = Annotated[int | None, typer.Option("--max-groups", help="Groups one unit may be in.")]
Where = Annotated[
    str | None, typer.Option("--where", metavar="CONDITION", help="Only rows that satisfy this.")
]
GroupBy = Annotated[
    str | None, typer.Option("--group-by", metavar="COLUMNS", help="Columns, separated by commas.")
]
Keys = Annotated[
    str | None,
    typer.Option("--keys", metavar="LIST", help="The public keys of one column, separated by commas."),
]
KeysFrom = Annotated[
    Path | None,
    typer.Option("--keys-from", metavar="FILE", help="A public CSV or Parquet file with the keys."),
]
Discovered = Annotated[bool, typer.Option("--discover", help="Find keys privately; needs an approx budget.")]
Agg = Annotated[
    str, typer.Option("--agg", metavar="LIST", help='As in "n=count(), pay=mean(income, 0, 250000)".')
]
Budget = Annotated[
    str, typer.Option("--budget", metavar="PROMISE", help="What this answer may cost: zcdp:0.05, ...")
]
Total = Annotated[
    str | None,
    typer.Option(
        "--total", metavar="PROMISE", help="The whole budget of a new ledger. [default: that of --budget]"
    ),
]
LedgerAt = Annotated[str, typer.Option("--ledger", metavar="LEDGER", help="A file, or a postgresql:// URL.")]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint", metavar="SEQ:HASH", help="An entry the ledger must contain, or @FILE with one in it."
    ),
]
NoCreate = Annotated[bool, typer.Option("--no-create", help="Refuse where there is no ledger yet.")]
Description = Annotated[
    Path | None, typer.Option("--schema", metavar="FILE", help="Public facts about columns, TOML or YAML.")
]
Missing = Annotated[
    str, typer.Option("--nulls", help="Missing values where the schema says nothing: drop or never.")
]
Name = Annotated[
    str | None,
    typer.Option("--name", help="The data set in the ledger. [default: the file's, or the table's]"),
]
Moved = Annotated[
    bool, typer.Option("--moved", help="The data set was at another place before; the ledger keeps that.")
]
Analyst = Annotated[str | None, typer.Option("--analyst", help="Who asks, where the budget has shares.")]
Confidence = Annotated[float, typer.Option("--confidence", help="Of the intervals.")]
Simultaneous = Annotated[bool, typer.Option("--simultaneous", help="Intervals that hold all together.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the answer as a page, too.")]


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Which data, whose budget: the options that all commands on tables share."""

    data: Data
    ledger: LedgerAt
    table: Table = None
    unit: UnitColumn = None
    max_rows: MaxRows = 1
    max_groups: MaxGroups = None
    total: Total = None
    schema: Description = None
    nulls: Missing = "drop"
    name: Name = None
    moved: Moved = False
    analyst: Analyst = None
    checkpoint: Checkpoint = None
    no_create: NoCreate = False

    def session(self, budget: str | None = None) -> Session:
        """The data with its account in the ledger; where it has none yet, one that the first charge opens."""
        try:
            from dalenius.session.opening import dataset_name
            from dalenius.session.session import Session
            from dalenius.tables import Schema, Source, Unit
        except ModuleNotFoundError:
            raise InvalidParameter("tables need Ibis and DuckDB: pip install 'dalenius[tables]'.") from None
        ledger = opened_ledger(self.ledger, self.checkpoint, self.no_create)
        facts = Schema.load(self.schema) if self.schema is not None else Schema()
        if facts.nulls is None:
            facts = Schema(dict(facts.columns), nulls=self.nulls)  # type: ignore[arg-type]
        source = Source.open(self.data, table=self.table, schema=facts)
        label = dataset_name(source, self.name, needed=True)
        known = not isinstance(ledger, str) and any(account.dataset == label for account in ledger.accounts())
        promised = self.total or (None if known else budget)
        return Session(
            source,
            unit=Unit.rows()
            if self.unit is None
            else Unit(self.unit, max_rows=self.max_rows, max_groups=self.max_groups),
            budget=None if promised is None else read_promise(promised),
            ledger=ledger,
            name=self.name,
            moved=self.moved,
            analyst=self.analyst,
        )


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked: the options of `query` and `price`."""

    agg: Agg
    where: Where = None
    group_by: GroupBy = None
    keys: Keys = None
    keys_from: KeysFrom = None
    discover: Discovered = False

    def of(self, session: Session) -> Query:
        """The question."""
        return _question(
            session, self.where, self.group_by, self.keys, self.keys_from, self.discover, self.agg
        )


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How an answer is shown: the options of `query` and `sql`."""

    confidence: Confidence = 0.95
    simultaneous: Simultaneous = False
    html: Html = None
    as_json: AsJson = False

    def check(self) -> None:
        """Say before anything is paid that the page cannot be written."""
        html = self.html
        if html is not None and (html.is_dir() or not html.absolute().parent.is_dir()):
            raise InvalidParameter(
                f"{html} cannot be written: its folder is not there, or it is one; name another file."
            )

    def release(self, session: Session, query: Query, budget: str, data: str) -> None:
        """Pay, answer and print."""
        with working(f"Asking {data}"):
            answer = session.release(query, read_promise(budget), confidence=self.confidence)
        _show(session, answer.at(simultaneous=self.simultaneous), self.html, self.as_json)


def query(opened: Opened, asked: Asked, budget: Budget, shown: Shown) -> None:
    """Aggregates by group, with intervals.

    Counting is exact, inside the engine; then noise is added and the budget in the ledger is charged. The
    same question at the same price is answered from the ledger for nothing.

    \b
    JSON keys: keys, columns (one list per column), cost, free, given, remaining.
    """
    shown.check()
    session = opened.session(budget)
    shown.release(session, asked.of(session), budget, opened.data)


def sql(
    opened: Opened,
    text: Annotated[
        str,
        typer.Argument(
            metavar="SELECT", help="A SELECT of aggregates FROM the file's name without its ending."
        ),
    ],
    budget: Budget,
    shown: Shown,
    keys: Keys = None,
) -> None:
    """The answer to a SELECT of aggregates; anything else is refused, with the reason."""
    from dalenius.tables.sql import grouped_by, parse_sql

    shown.check()
    session = opened.session(budget)
    listed = None if keys is None else _listed(session, grouped_by(text), keys)
    asked = parse_sql(text, session.table, public={}, keys=listed, unit=session.unit.column)
    shown.release(session, asked, budget, opened.data)


def price(
    opened: Opened,
    asked: Asked,
    within: Annotated[
        float, typer.Option("--within", metavar="ERROR", help="The error that is small enough.")
    ],
    confidence: Confidence = 0.95,
    column: Annotated[
        str | None, typer.Option("--column", help="The aggregate meant. [default: all]")
    ] = None,
    rows: Annotated[float | None, typer.Option("--rows", help="How many rows a group has.")] = None,
    as_json: AsJson = False,
) -> None:
    """The cheapest budget that is accurate enough; nothing is spent and no row is read."""
    from dalenius.session.accuracy import within as accuracy

    session = opened.session()
    found = session.price(asked.of(session), accuracy(within, confidence, column=column, rows=rows))
    if as_json:
        print(json.dumps({"budget": repr(found.budget), "affordable": found.affordable}))
        return
    print(
        f"{found.budget!r}"
        + ("" if found.affordable else f", more than the {session.remaining!r} that is left")
    )


def opened_ledger(where: str, checkpoint: str | None, no_create: bool) -> str | Ledger:
    """The ledger of the command line; its address where there is none yet, for the first charge to make it."""
    from dalenius.cli.ledger import read_expected
    from dalenius.session.ledger import Ledger
    from dalenius.session.opening import existing_ledger

    if checkpoint is not None or no_create:
        return Ledger.open(where, create=False, checkpoint=read_expected(checkpoint))
    return existing_ledger(where) or where


def _listed(session: Session, column: str | None, keys: str) -> list[Any]:
    """Keys as the column has them: whole numbers, dates, or true and false where it holds such."""
    kinds = {f.name.lower(): f.kind for f in session.table.fields} | {
        f.name: f.kind for f in session.table.fields
    }
    kind = kinds.get(column or "", kinds.get((column or "").lower()))
    read: dict[str | None, Any] = {
        "integer": int,
        "date": date.fromisoformat,
        "bool": {"true": True, "false": False}.get,
    }
    found = []
    for key in (part.strip() for part in keys.split(",")):
        try:
            value = read[kind](key.lower()) if kind in read else key
        except ValueError:
            value = None
        if value is None:
            raise InvalidParameter(
                f"--keys has {key!r}, and {column} holds values of type {kind}; write keys of that type."
            )
        found.append(value)
    return found


def _question(
    session: Session,
    where: str | None,
    group_by: str | None,
    keys: str | None,
    keys_from: Path | None,
    discover: bool,
    agg: str,
) -> Query:
    from dalenius.tables.facts.problems import Problems
    from dalenius.tables.sql import parse_aggregates

    problems, table = Problems(), session.table
    wanted = problems.attempt(lambda: parse_aggregates(agg, session.unit.column)) or {}
    if where is not None:
        table = problems.attempt(lambda: table.filter(where)) or table
    if group_by is None:
        if keys or keys_from or discover:
            problems.add(InvalidParameter("keys without --group-by belong to no column; say which one."))
        grouped = None
    else:
        columns = [column.strip() for column in group_by.split(",")]
        grouped = problems.attempt(
            lambda: table.group_by(*columns, keys=_keys(session, columns[0], keys, keys_from, discover))
        )
    asking = table if grouped is None else grouped
    asked = problems.attempt(lambda: asking.agg(**wanted)) if wanted else None
    problems.raise_any()
    assert asked is not None
    return asked


def _keys(session: Session, column: str, keys: str | None, keys_from: Path | None, discover: bool) -> Any:
    from dalenius.tables import discover as discovered

    if sum((keys is not None, keys_from is not None, discover)) > 1:
        raise InvalidParameter("give one of --keys, --keys-from and --discover.")
    if discover:
        return discovered()
    if keys_from is not None:
        return _frame(keys_from)
    return None if keys is None else _listed(session, column, keys)


def _frame(path: Path) -> Any:
    import duckdb

    if not path.is_file():
        raise InvalidParameter(f"the file of keys {path} does not exist; check the path.")
    try:
        found: Any = (
            duckdb.read_parquet(str(path)) if path.suffix == ".parquet" else duckdb.read_csv(str(path))
        )
        return found.to_arrow_table()
    except duckdb.Error as problem:
        said = str(problem).splitlines()[0]
        raise InvalidParameter(f"the file of keys {path} cannot be read: {said}") from None


def _show(session: Session, answer: Answer, html: Path | None, as_json: bool) -> None:
    _print(session, answer, as_json)
    if html is not None:
        try:
            html.write_text(f"<!doctype html><meta charset=utf-8>{answer.to_html()}", encoding="utf-8")
        except OSError as problem:
            raise InvalidParameter(
                f"{html} could not be written ({problem.strerror}). The answer is in the ledger: the same command "
                "again costs nothing."
            ) from None


def _print(session: Session, answer: Answer, as_json: bool) -> None:
    if as_json:
        found = {
            "keys": [list(map(str, key)) for key in answer.keys],
            "columns": answer.to_dict(),
            "cost": answer.cost,
            "free": answer.free,
            "given": answer.given,
            "remaining": repr(session.remaining),
        }
        print(json.dumps(_without_nan(found), default=str))
        return
    print(answer)
    on_record = f"From the ledger, given {answer.given}, at no cost now. " if answer.free else ""
    print(f"{on_record}Left: {session.remaining!r}")


def _without_nan(value: Any) -> Any:
    """JSON has no NaN: null stands for what was not found, as in other commands "inf" for infinity."""
    if isinstance(value, dict):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    if isinstance(value, float):
        return None if math.isnan(value) else plain_number(value)
    return value


def add_to(app: typer.Typer) -> None:
    """Put the commands into the program."""
    for command in (query, sql, price):
        app.command(epilog=EXIT_CODES)(with_shared_options(command))
