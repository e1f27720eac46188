"""`dalenius query | sql | price`: private answers from a table, paid from a ledger."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dalenius.cli.commands import command
from dalenius.cli.forms import Form
from dalenius.cli.problems import single_number
from dalenius.cli.promises import read_promise
from dalenius.cli.show import harmless, print_json, working
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.session.accuracy import Within
    from dalenius.session.ledger import Ledger
    from dalenius.session.session import Session
    from dalenius.tables.ask.cube import CubeQuery
    from dalenius.tables.ask.query import Query
    from dalenius.tables.release.answer import Answer
    from dalenius.tables.release.cross_table import CrossTable

BUDGET = typer.Option(
    None,
    metavar="PROMISE",
    help="What this answer may cost: zcdp:0.05, ... [default: as --per-question says]",
)
CONFIDENCE = typer.Option(0.95, help="Of the intervals.")
KEYS = typer.Option(
    [],
    metavar="LIST",
    help="The public keys, separated by commas; of several columns once for each, in their order or as sex=f,m.",
)


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Which data, whose budget: the options that all commands on tables share."""

    data: str = typer.Argument(
        metavar="DATA", help="A CSV, Parquet, DuckDB or SQLite file, or a postgresql:// URL."
    )
    ledger: str | None = typer.Option(
        None, metavar="LEDGER", help="A file, or a postgresql:// URL. [required]", envvar="DALENIUS_LEDGER"
    )
    table: list[str] = typer.Option(
        [], metavar="NAME", help="The table, in a database; several of the same units, for `sql`."
    )
    beside: list[str] = typer.Option(
        [], "--and", metavar="NAME=DATA", help="Another table of the same units, for `sql` to join."
    )
    unit: list[str] = typer.Option(
        [],
        metavar="ID",
        help="The column that tells people apart; once more for a month's, to protect a person in one month. "
        "[default: each row]",
    )
    max_rows: list[str] = typer.Option(
        ["1"], metavar="ROWS", help="Rows of one unit that count: 4, or visits=4 for one of several tables."
    )
    max_groups: int | None = typer.Option(None, help="Groups one unit may be in.")
    total: str | None = typer.Option(
        None, metavar="PROMISE", help="The whole budget of a new ledger. [default: that of --budget]"
    )
    schema: list[str] = typer.Option(
        [],
        metavar="FILE",
        help="Public facts about columns, TOML or YAML; NAME=FILE for one of several tables.",
    )
    nulls: str = typer.Option(
        "drop",
        help="Missing values where the schema says nothing: drop or never.",
        autocompletion=lambda: ["drop", "never"],
    )
    name: str | None = typer.Option(
        None, help="The data set in the ledger. [default: the file's, or the table's]"
    )
    moved: bool = typer.Option(
        False, "--moved", help="The data set was at another place before; the ledger keeps that."
    )
    analyst: str | None = typer.Option(None, help="Who asks, where the budget has shares.")
    checkpoint: str | None = typer.Option(
        None, metavar="SEQ:HASH", help="An entry the ledger must contain, or @FILE with one in it."
    )
    no_create: bool = typer.Option(False, "--no-create", help="Refuse where there is no ledger yet.")
    per_question: str | None = typer.Option(
        None,
        metavar="PROMISE",
        help="What an answer may cost that says neither --budget nor --within.",
        envvar="DALENIUS_PER_QUESTION",
    )
    split_evenly_over: int | None = typer.Option(
        None, metavar="N", help="The same, as a number of answers the whole budget suffices for."
    )

    def session(self, budget: str | None = None, *, paying: bool = True) -> Session:
        """The data with its account in the ledger; where it has none yet, one that the first charge opens.

        paying: whether something may be charged; else no ledger is needed, if the total is said.
        """
        try:
            from dalenius.session.opening import dataset_name, opened
            from dalenius.session.session import Session
            from dalenius.tables import Unit
        except ModuleNotFoundError:
            raise InvalidParameter("tables need Ibis and DuckDB: pip install 'dalenius[tables]'.") from None
        ledger = None if self.ledger is None and self.total and not paying else self._ledger()
        unit = Unit.rows()
        if self.unit:
            unit = Unit(self.unit, max_rows=self._rows(), max_groups=self.max_groups)
        source = opened(*self._places(), self._facts(), unit)
        label = dataset_name(source, self.name, needed=True)
        accounts = [] if ledger is None or isinstance(ledger, str) else ledger.accounts()
        known = any(account.dataset == label for account in accounts)
        each = None if self.split_evenly_over is not None else self.per_question
        promised = self.total or (None if known else budget)
        session = Session(
            source,
            unit=unit,
            budget=None if promised is None else read_promise(promised),
            ledger=ledger,
            name=self.name,
            moved=self.moved,
            analyst=self.analyst,
            per_question=None if each is None else read_promise(each),
            split_evenly_over=self.split_evenly_over,
        )
        if paying and not known and self.total is None and budget is not None:
            said = f"No --total: {budget} will be the budget of {label!r} for ever, and this answer takes all of it."
            typer.echo(harmless(said), err=True)
        return session

    def _places(self) -> tuple[Any, Any]:
        """The data and its table, or several of them by their names."""
        if not self.beside:
            return self.data, self.table if len(self.table) > 1 else next(iter(self.table), None)
        if self.table:
            raise InvalidParameter(
                "--and names another file, --table a table of a database; use one of them."
            )
        first = Path(self.data).name.partition(".")[0]
        return {first: self.data, **_named("--and", self.beside)}, None

    @property
    def _is_several(self) -> bool:
        return bool(self.beside) or len(self.table) > 1

    def _rows(self) -> int | dict[str, int]:
        """The rows of one unit that count, in each of several tables where they are named."""
        if len(self.max_rows) == 1 and "=" not in self.max_rows[0]:
            return _whole("--max-rows", self.max_rows[0])
        return {
            name: _whole("--max-rows", text) for name, text in _named("--max-rows", self.max_rows).items()
        }

    def _facts(self) -> Any:
        """What is public about the columns of the table, or of each of several."""
        from dalenius.tables import Schema

        def read(path: str | None) -> Schema:
            facts = Schema() if path is None else Schema.load(path)
            return facts if facts.nulls is not None else Schema(dict(facts.columns), nulls=self.nulls)  # type: ignore[arg-type]

        if not self._is_several:
            if len(self.schema) > 1:
                raise InvalidParameter("--schema is given twice; one table has one.")
            return read(next(iter(self.schema), None))
        places, tables = self._places()
        given = _named("--schema", self.schema)
        return {name: read(given.get(name)) for name in (tables or places)} | {
            name: read(path) for name, path in given.items()
        }

    def _ledger(self) -> str | Ledger:
        """Its address where there is none yet, for the first charge to make it."""
        from dalenius.cli.ledger import read_expected
        from dalenius.session.ledger import Ledger
        from dalenius.session.opening import existing_ledger

        if self.ledger is None:
            raise InvalidParameter(
                "say where it is charged: --ledger people.ledger, a file or a postgresql:// URL, or the variable "
                "DALENIUS_LEDGER. (A price can be asked without one: --total zcdp:0.5.)"
            )
        if self.checkpoint is not None or self.no_create:
            return Ledger.open(self.ledger, create=False, checkpoint=read_expected(self.checkpoint))
        return existing_ledger(self.ledger) or self.ledger


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked: the options of `query` and `price`."""

    agg: str | None = typer.Option(
        None, metavar="LIST", help='As in "n=count(), pay=mean(income, 0, 250000)".'
    )
    where: str | None = typer.Option(None, metavar="CONDITION", help="Only rows that satisfy this.")
    group_by: str | None = typer.Option(None, metavar="COLUMNS", help="Columns, separated by commas.")
    keys: list[str] = KEYS
    keys_from: Path | None = typer.Option(
        None, metavar="FILE", help="A public CSV or Parquet file with the keys."
    )
    discover: bool = typer.Option(False, "--discover", help="Find keys privately; needs an approx budget.")

    def of(self, session: Session) -> Query:
        """The question."""
        from dalenius.tables.facts.problems import Problems
        from dalenius.tables.sql import parse_aggregates

        problems, table, where, agg = Problems(), session.table, self.where, self.agg
        if session.source.together:
            raise InvalidParameter(
                "a question about several tables is written in SQL: dalenius sql, with a JOIN."
            )
        if agg is None:
            raise InvalidParameter('say what to ask: --agg "n=count(), pay=mean(income, 0, 250000)".')
        wanted = problems.attempt(lambda: parse_aggregates(agg, session.unit.columns)) or {}
        if where is not None:
            table = problems.attempt(lambda: table.filter(where)) or table
        grouped = None
        if self.group_by is not None:
            columns = names(self.group_by)
            grouped = problems.attempt(lambda: table.group_by(*columns, keys=self._keys(session, columns)))
        elif self.keys or self.keys_from or self.discover:
            problems.add(InvalidParameter("keys without --group-by belong to no column; say which one."))
        asking = table if grouped is None else grouped
        asked = problems.attempt(lambda: asking.agg(**wanted)) if wanted else None
        problems.raise_any()
        assert asked is not None
        return asked

    def _keys(self, session: Session, columns: list[str]) -> Any:
        from dalenius.tables import discover

        if sum((bool(self.keys), self.keys_from is not None, self.discover)) > 1:
            raise InvalidParameter("give one of --keys, --keys-from and --discover.")
        if self.discover:
            return discover()
        if self.keys_from is not None:
            return _frame(self.keys_from, {f.name.lower() for f in session.table.fields if f.kind == "text"})
        return _keys_of(session, columns, self.keys)


@dataclass(frozen=True, kw_only=True)
class Paid:
    """What an answer costs: the options of `query` and `sql`."""

    budget: str | None = BUDGET
    within: list[str] = typer.Option(
        [], metavar="ERROR", help="The error that is small enough, for which the least is paid: 50, or n=50."
    )
    column: str | None = typer.Option(None, help="The aggregate meant by --within. [default: all]")
    rows: float | None = typer.Option(None, help="How many rows a group has, for --within.")

    def accuracy(self, confidence: float, simultaneous: bool) -> Within | None:
        """What --within says; None where nothing does."""
        if self.within:
            if self.budget is not None:
                raise InvalidParameter("give one of --budget and --within: an accuracy has its own price.")
            return read_within(self.within, confidence, self.column, self.rows, simultaneous)
        if self.column is not None or self.rows is not None:
            raise InvalidParameter("--column and --rows belong to --within, which is not there.")
        return None


@dataclass(frozen=True, kw_only=True)
class Shown(Form):
    """How an answer is shown: the options of `query` and `sql`."""

    confidence: float = CONFIDENCE
    simultaneous: bool = typer.Option(False, "--simultaneous", help="Intervals that hold all together.")
    html: Path | None = typer.Option(None, metavar="FILE", help="Write the answer as a page, too.")
    tidy: str | None = typer.Option(
        None, metavar="NAME", help="A row for each bin of this histogram, or each place of this top_k."
    )
    plain: bool = typer.Option(
        False, "--plain", help="With --markdown: for a spreadsheet, every number in a column of its own."
    )

    def check(self, query: Query | CubeQuery) -> None:
        """Say before anything is paid what cannot be shown."""
        from dalenius.tables.ask.cube import CubeQuery

        asked = query.queries[0] if isinstance(query, CubeQuery) else query
        known = [name for name, one in asked.aggregates if one.tag in ("histogram", "top_k")]
        if self.tidy is not None and self.tidy not in known:
            there = f"there are {', '.join(known)}" if known else "there is none in the question"
            raise InvalidParameter(f"--tidy {self.tidy} names no histogram and no top_k; {there}.")
        if self.plain and not self.as_markdown:
            raise InvalidParameter("--plain belongs to --markdown; --csv is plain by itself.")
        html = self.html
        if html is not None and (html.is_dir() or not html.absolute().parent.is_dir()):
            raise InvalidParameter(
                f"{html} cannot be written: its folder is not there, or it is one; name another file."
            )

    def release(self, session: Session, query: Query | CubeQuery, paid: Paid, data: str) -> None:
        """Pay, answer and print."""
        from dalenius.tables.ask.cube import CubeQuery
        from dalenius.tables.release.answer import Answer

        accuracy = paid.accuracy(self.confidence, self.simultaneous)
        budget = None if paid.budget is None else read_promise(paid.budget)
        answer: Answer | CrossTable
        with working(f"Asking {data}"):
            if isinstance(query, CubeQuery):
                answer = session.cross_table(query, budget, accuracy=accuracy)
            else:
                answer = session.release(query, budget, accuracy=accuracy)
        answer = answer.at(self.confidence, simultaneous=self.simultaneous)
        given = answer if isinstance(answer, Answer) else answer.cells
        sheet = answer if self.tidy is None else answer.bins(self.tidy)
        if self.as_json:
            content = {
                "keys": [list(map(str, key)) for key in sheet.keys],
                "columns": sheet.to_dict(),
                "cost": given.cost,
                "free": given.free,
                "given": given.given,
                "remaining": repr(session.remaining),
            }
            print_json(content, indent=None)
        else:
            left = f"Left: {session.left_in_words()}"
            if self.is_table:
                table = sheet.to_dict()
                if self.as_csv:
                    self.print(list(table), list(zip(*table.values(), strict=True)))
                else:
                    print(sheet.to_markdown(plain=self.plain))
                self.aside(f"{sheet.note}\n{left}")
            else:
                print(f"{sheet}\n{left}")
        if self.html is not None:
            try:
                sheet.to_html(self.html)
            except OSError as problem:
                raise InvalidParameter(
                    f"{self.html} could not be written ({problem.strerror}). The answer is in the ledger: the same "
                    "command again costs nothing."
                ) from None


def query(opened: Opened, asked: Asked, paid: Paid, shown: Shown) -> None:
    """Aggregates by group, with intervals.

    Say what the answer may cost (--budget), or how accurate it is to be (--within), for which the least is paid.

    Counting is exact, inside the engine; then noise is added and the budget in the ledger is charged. The
    same question at the same price is answered from the ledger for nothing.

    \b
    JSON keys: keys, columns (one list per column), cost, free, given, remaining.
    """
    session = opened.session(paid.budget)
    question = asked.of(session)
    shown.check(question)
    shown.release(session, question, paid, opened.data)


def sql(
    opened: Opened,
    paid: Paid,
    shown: Shown,
    text: str = typer.Argument(
        metavar="SELECT", help="A SELECT of aggregates FROM the file's name without its ending."
    ),
    keys: list[str] = KEYS,
) -> None:
    """The answer to a SELECT of aggregates; anything else is refused, with the reason."""
    session = opened.session(paid.budget)
    question = _selected(session, text, keys)
    shown.check(question)
    shown.release(session, question, paid, opened.data)


def price(
    opened: Opened,
    asked: Asked,
    form: Form,
    within: list[str] = typer.Option(metavar="ERROR", help="The error that is small enough: 50, or n=50."),
    select: str | None = typer.Option(None, "--sql", metavar="SELECT", help="In place of --agg."),
    confidence: float = typer.Option(0.95, help="How often the error is to be kept to."),
    column: str | None = typer.Option(None, help="The aggregate meant. [default: all]"),
    rows: float | None = typer.Option(None, help="How many rows a group has."),
    simultaneous: bool = typer.Option(False, "--simultaneous", help="All numbers of the answer together."),
    delta: float | None = typer.Option(
        None, metavar="D", help="At which epsilon is told. [default: the budget's own, or 1e-6]"
    ),
) -> None:
    """The cheapest budget that is accurate enough; nothing is spent and no row is read.

    Standard output has the budget, as --budget takes it, and nothing else; standard error says what it means.

    \b
    JSON keys: budget, affordable, epsilon, delta, times (what is left pays for), assumes.
    """
    accuracy = read_within(within, confidence, column, rows, simultaneous)
    session = opened.session(paying=False)
    if select is not None and (asked.agg, asked.where, asked.group_by) != (None, None, None):
        raise InvalidParameter("--sql says everything: leave --agg, --where and --group-by out.")
    query = asked.of(session) if select is None else _selected(session, select, asked.keys)
    with working("Looking for the least"):
        found = session.price(query, accuracy, delta=delta)
    content = {
        "budget": repr(found.budget),
        "affordable": found.affordable,
        "epsilon": found.epsilon,
        "delta": found.delta,
        "times": found.times,
        "assumes": found.assumes,
    }
    if form.as_json:
        print_json(content, indent=None)
    elif form.is_table:
        form.print(list(content), [list(content.values())])
    else:
        print(repr(found.budget))
        left = "" if found.affordable else f" ({session.left_in_words()})"
        form.aside(f"{found}{left}")


def read_within(
    errors: list[str], confidence: float, column: str | None, rows: float | None, simultaneous: bool
) -> Within:
    """--within 50, or --within n=50 --within pay=1000."""
    from dalenius.session.accuracy import within

    named = dict(each.rpartition("=")[::2] for each in errors)
    if len(named) < len(errors) or ("" in named and len(named) > 1):
        raise InvalidParameter(
            "give --within once, for all columns, or once for each: --within n=50 --within pay=1000."
        )
    numbers = {name.strip(): single_number(text) for name, text in named.items()}
    error = numbers.get("", numbers)
    return within(error, confidence, column=column, rows=rows, simultaneous=simultaneous)


def names(text: str) -> list[str]:
    """Columns separated by commas; double quotes around one, as expressions need them, are left out."""
    found = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    return [name for name in found if name]


def _selected(session: Session, text: str, keys: list[str]) -> Query | CubeQuery:
    from dalenius.tables.sql import grouped_by, parse_question

    listed = _keys_of(session, grouped_by(text), keys)
    return parse_question(text, session.table, public={}, keys=listed, unit=session.unit.columns)


def _keys_of(session: Session, columns: list[str], given: list[str]) -> Any:
    """The keys of one column as a list; of several, for each by its name."""
    if not given:
        return None
    several = len(columns) > 1 or len(given) > 1
    named = _keys_by_name(columns, given)
    if named:
        listed = {name: _listed(session, name, keys) for name, keys in named.items()}
        return listed if len(columns) > 1 else listed[columns[0]]
    if len(columns) != len(given) and (several or columns):
        raise InvalidParameter(
            "--keys are of one column; of several they are given once for each, as --keys sex=f,m --keys town=Lund. "
            "Where only some combinations are wanted, --keys-from a file; or state the categories in --schema."
        )
    if not several:
        return _listed(session, next(iter(columns), None), given[0])
    return {name: _listed(session, name, keys) for name, keys in zip(columns, given, strict=True)}


def _keys_by_name(columns: list[str], given: list[str]) -> dict[str, str]:
    """The keys of each column that is named, as in sex=f,m; nothing where none is, and then they are in order."""
    known = {name.lower(): name for name in columns}
    found: dict[str, str] = {}
    for text in given:
        word, mark, keys = text.partition("=")
        name = known.get(word.strip().lower()) if mark else None
        if name in found:
            raise InvalidParameter(
                f"--keys are given twice for {name}; give them at once: --keys {name}={found[name]},{keys}."
            )
        if name is not None:
            found[name] = keys
    if found and len(found) < len(given):
        raise InvalidParameter(
            "--keys names the column of some keys and not of others; name each, as --keys sex=f,m --keys town=Lund, or "
            f"none. The columns are {', '.join(columns)}."
        )
    return found


def _listed(session: Session, column: str | None, keys: str) -> list[Any]:
    """Keys as the column has them: whole numbers, dates, or true and false where it holds such."""
    fields = session.table.fields
    kinds = {f.name.lower(): f.kind for f in fields} | {f.name: f.kind for f in fields}
    kind = kinds.get(column or "", kinds.get((column or "").lower()))
    read: dict[str | None, Any] = {
        "integer": int,
        "date": date.fromisoformat,
        "bool": {"true": True, "false": False}.get,
    }
    values = []
    for key in (part.strip() for part in keys.split(",")):
        try:
            value = read[kind](key.lower()) if kind in read else key
        except ValueError:
            value = None
        if value is None:
            raise InvalidParameter(
                f"--keys has {key!r}, and {column} holds values of type {kind}; write keys of that type."
            )
        values.append(value)
    return values


def _named(option: str, given: list[str]) -> dict[str, str]:
    """NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not (name and mark and value) or name in found:
            raise InvalidParameter(
                f"{option} is {text!r}; of several tables it is NAME=VALUE, each name once."
            )
        found[name] = value
    return found


def _whole(option: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal():
        raise InvalidParameter(f"{option} is {text!r}; it must be a whole number, such as 4, or visits=4.")
    return int(text)


def _frame(path: Path, texts: set[str]) -> Any:
    """A public file of keys; columns that hold text in the data hold text in it, such as F, which looks like false."""
    import duckdb

    if not path.is_file():
        raise InvalidParameter(f"the file of keys {path} does not exist; check the path.")
    try:
        if path.suffix == ".parquet":
            return duckdb.read_parquet(str(path)).to_arrow_table()
        guessed = duckdb.read_csv(str(path))
        as_text = {name: "VARCHAR" for name in guessed.columns if name.lower() in texts}
        return (
            duckdb.read_csv(str(path), dtype=as_text).to_arrow_table()
            if as_text
            else guessed.to_arrow_table()
        )
    except duckdb.Error as problem:
        said = str(problem).splitlines()[0]
        raise InvalidParameter(f"the file of keys {path} cannot be read: {said}") from None


def add_to(app: typer.Typer) -> None:
    """Put the commands into the program."""
    for each in (query, sql, price):
        command(app)(each)
