"""What is asked of a session from afar: one kind of request in one object, which reads itself and asks.

    {"kind": "release", "question": {...} or {"sql": "SELECT ..."}, "public": [...], "budget": {...}}
    {"kind": "release_all", "questions": {"a": {...}}, "public": [...], "budget": {...}}
    {"kind": "fit", "model": {...}, "features": {"age": [18, 90], "sex": {"categories": ["f", "m"]}},
     "target": "pay >= 36", "table": {...}, "public": [...]}
    {"kind": "infer", "estimator": {...}, "features": ["age"], "target": null, "table": {...}, "public": [...]}
    {"kind": "evaluate", "model": {"features": {...}, "model": {...}, "released": {...}}, "features": ["age"],
     "target": "pay >= 36", "bins": 20, "table": {...}, "public": [...], "budget": {...}}
    {"kind": "synthesize", "columns": {"age": {"bounds": [18, 90], "bins": 12}, "town": null}, "bins": 32,
     "private_bins": ["age"], "marginals": 2, "table": {...}, "public": [...], "budget": {...}}

What is asked is settled when it is first read: `settled` puts the budget in the place of an accuracy, or of the
session's budget per question, so that the same request is the same question tomorrow.
"""

from __future__ import annotations

import functools
import json
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dalenius.calculus.guarantees import Guarantee, from_record
from dalenius.core.checks import label, shown
from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter, LedgerError
from dalenius.session.accuracy import Within, within
from dalenius.session.columns import Columns, named_columns
from dalenius.session.price import Price, told_delta
from dalenius.session.record.estimators import read_estimator
from dalenius.session.session import Session
from dalenius.session.travel import synthetic_columns
from dalenius.session.travel.weights import FIT, INFERENCE, weight
from dalenius.session.words import steps_in_words
from dalenius.tables.ask.cube import CubeQuery
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.ask.reading import bounded, read_keys, read_query, read_table, reading
from dalenius.tables.facts.forms import BROKEN, CONSTANTS, NUMBER, NUMBERS
from dalenius.tables.facts.nearest import nearest
from dalenius.tables.facts.public import PublicTable
from dalenius.tables.facts.schema import Column

MOST_QUESTIONS = 100
"""In one plan."""


LONGEST_KEPT = 20_000
"""Characters of a request that is kept after it was read."""

LONGEST_MODEL = 1_000_000
"""Characters of a fitted model in a request: some forty thousand coefficients."""


class Request(ABC):
    """Something that a session can be asked for."""

    tag: ClassVar[str]
    """Its name in records, which never changes."""
    words: ClassVar[tuple[str, ...]]

    @classmethod
    @abstractmethod
    def read(cls, record: Mapping[str, JSON], session: Session) -> Request:
        """What a record asks for, whoever wrote it; every check that needs no charge is made."""

    @abstractmethod
    def ask(self, session: Session) -> Any:
        """Ask for it: what the session gives."""

    @property
    def said(self) -> str:
        """What is asked, for a list."""
        return ""

    @property
    def weight(self) -> float:
        """How long it takes beside an ordinary question: from public facts."""
        return 1.0

    def settled(self, session: Session) -> dict[str, JSON]:
        """What its price makes certain, in the words of a request."""
        return {}

    @abstractmethod
    def price(self, session: Session) -> Price:
        """What it costs, before paying."""


def read_request(record: JSON, session: Session) -> Request:
    """The request of a record, for this session; InvalidParameter for anything else.

    A request is read several times on its way (priced, looked up, carried out), and people ask the same again: what was
    read lately is kept.
    """
    try:
        text = json.dumps(record, allow_nan=False)  # in its own order: features have one
    except (TypeError, ValueError, RecursionError):
        text = ""
    if not text or len(text) > LONGEST_KEPT:
        return reading(lambda: _read(bounded(record), session))
    return _kept(text, weakref.ref(session))


@functools.lru_cache(maxsize=512)
def _kept(text: str, held: weakref.ref[Session]) -> Request:
    session = held()
    assert session is not None  # whoever asks holds it
    return reading(lambda: _read(bounded(json.loads(text)), session))


def _read(record: JSON, session: Session) -> Request:
    tag = record.get("kind", Release.tag) if isinstance(record, dict) else None
    if not isinstance(tag, str) or tag not in KINDS:
        raise InvalidParameter(
            f"the request is of kind {shown(tag)}; it must be an object whose 'kind' is one of {', '.join(KINDS)}."
        )
    kind = KINDS[tag]
    for word in record:
        if word not in ("kind", *kind.words):
            raise InvalidParameter(f"a {tag} says {shown(word)}; {nearest(str(word), kind.words)}.")
    return kind.read(record, session)


@dataclass(frozen=True)
class Release(Request):
    """One question, or a SELECT, which may be of a cube."""

    tag = "release"
    words = ("question", "public", "keys", "budget", "accuracy", "confidence")

    query: Query | CubeQuery
    budget: Guarantee | None = None
    accuracy: Within | None = None
    confidence: float | None = None

    @classmethod
    def read(cls, record: Mapping[str, JSON], session: Session) -> Release:
        budget = read_budget(record.get("budget"))
        accuracy = read_accuracy(record.get("accuracy"))
        return cls(read_question(record, session), budget, accuracy, record.get("confidence"))

    def ask(self, session: Session) -> Any:
        if isinstance(self.query, CubeQuery):
            return session.cross_table(
                self.query, self.budget, accuracy=self.accuracy, confidence=self.confidence
            )
        return session.release(self.query, self.budget, accuracy=self.accuracy, confidence=self.confidence)

    @property
    def said(self) -> str:
        query = self.query.queries[0] if isinstance(self.query, CubeQuery) else self.query
        return repr(query)[1:-1]

    @property
    def weight(self) -> float:
        queries = self.query.queries if isinstance(self.query, CubeQuery) else (self.query,)
        return float(sum(1 + len(query.measures) // 32 for query in queries))

    def settled(self, session: Session) -> dict[str, JSON]:
        if self.accuracy is None:
            return {"budget": session._paid(self.budget).record()}
        if self.budget is not None:
            raise InvalidParameter("give one of budget and accuracy: an accuracy has its own price.")
        confidence = self.accuracy.confidence if self.confidence is None else self.confidence
        price = session.price(self.query, self.accuracy).budget
        return {"budget": price.record(), "accuracy": None, "confidence": confidence}

    def price(self, session: Session) -> Price:
        if self.accuracy is None:
            return price_of(self, session, session._paid(self.budget))
        if self.budget is not None:
            raise InvalidParameter("give one of budget and accuracy: an accuracy has its own price.")
        return session.price(self.query, self.accuracy)

    def errors(
        self, session: Session, budget: Guarantee, confidence: float, rows: float | None
    ) -> list[JSON]:
        """What each number of the answer is off by at most, or why that cannot be said."""
        told, found = session.explain(self.query, budget), []
        query = self.query.queries[0] if isinstance(self.query, CubeQuery) else self.query
        for name, _ in query.aggregates:
            try:
                found.append({"column": name, "error": told.error(confidence, name, rows), "why": None})
            except InvalidParameter as problem:
                found.append({"column": name, "error": None, "why": str(problem)})
        return found


@dataclass(frozen=True)
class ReleaseAll(Request):
    """Several questions as one plan."""

    tag = "release_all"
    words = ("questions", "public", "budget")

    queries: Mapping[str, Query]
    budget: Guarantee | None = None

    @classmethod
    def read(cls, record: Mapping[str, JSON], session: Session) -> ReleaseAll:
        listed = record.get("questions")
        if not isinstance(listed, dict) or not 0 < len(listed) <= MOST_QUESTIONS:
            raise InvalidParameter(
                f"questions must be an object of questions by their names, at least one and at most {MOST_QUESTIONS}."
            )
        for name in listed:
            label("the name of a question", name)
        public = read_public(record.get("public"))
        queries = {name: read_query(one, session.table, public) for name, one in listed.items()}
        return cls(queries, read_budget(record.get("budget")))

    def ask(self, session: Session) -> Any:
        return session.release_all(self.queries, self.budget)

    @property
    def said(self) -> str:
        return f"{len(self.queries)} questions in one plan: {', '.join(self.queries)}"

    @property
    def weight(self) -> float:
        return float(sum(1 + len(query.measures) // 32 for query in self.queries.values()))

    def settled(self, session: Session) -> dict[str, JSON]:
        return {"budget": session._paid(self.budget).record()}

    def price(self, session: Session) -> Price:
        return price_of(self, session, session._paid(self.budget))


@dataclass(frozen=True)
class Fit(Request):
    """A model, which has its own promise."""

    tag = "fit"
    words = ("model", "features", "target", "table", "public")

    model: Any
    features: Columns
    target: Columns
    table: Table | None = None

    @classmethod
    def read(cls, record: Mapping[str, JSON], session: Session) -> Fit:
        from dalenius.learn.saved import asked_model

        features, target = (read_columns(word, record.get(word)) for word in ("features", "target"))
        if features is None or target is None:
            raise InvalidParameter("a fit needs 'features' and a 'target'.")
        return cls(asked_model(record.get("model")), features, target, read_own_table(record, session))

    def ask(self, session: Session) -> Any:
        return session.fit(self.model, self.features, self.target, table=self.table)

    @property
    def said(self) -> str:
        return "fit of " + _about(self.model, self.features, self.target, self.table)

    @property
    def weight(self) -> float:
        return weight(self.model, _number_of(self.features), FIT)

    def price(self, session: Session) -> Price:
        return session.price(self.model, features=self.features, target=self.target, table=self.table)


@dataclass(frozen=True)
class Infer(Request):
    """A regression, an estimate or a test, which has its own promise."""

    tag = "infer"
    words = ("estimator", "features", "target", "table", "public")

    estimator: Any
    features: Columns
    target: Columns | None = None
    table: Table | None = field(default=None)

    @classmethod
    def read(cls, record: Mapping[str, JSON], session: Session) -> Infer:
        features, target = (read_columns(word, record.get(word)) for word in ("features", "target"))
        if features is None:
            raise InvalidParameter("an inference needs 'features'.")
        estimator = read_estimator(record.get("estimator"))
        return cls(estimator, features, target, read_own_table(record, session))

    def ask(self, session: Session) -> Any:
        return session.infer(self.estimator, self.features, self.target, table=self.table)

    @property
    def said(self) -> str:
        return _about(self.estimator, self.features, self.target, self.table)

    @property
    def weight(self) -> float:
        return weight(self.estimator, _number_of(self.features), INFERENCE)

    def price(self, session: Session) -> Price:
        return session.price(self.estimator, features=self.features, target=self.target, table=self.table)


@dataclass(frozen=True)
class Evaluate(Request):
    """How good a classifier is that was released: what it is stands in the request, but for what it cost."""

    tag = "evaluate"
    words = ("model", "features", "target", "budget", "bins", "table", "public")

    model: Any
    features: Columns
    target: Columns
    budget: Guarantee | None = None
    bins: int = 20
    table: Table | None = None

    @classmethod
    def read(cls, record: Mapping[str, JSON], session: Session) -> Evaluate:
        from dalenius.learn.saved import asked_fitted

        features, target = (read_columns(word, record.get(word)) for word in ("features", "target"))
        if features is None or target is None:
            raise InvalidParameter("an evaluation needs 'features' and a 'target'.")
        if len(json.dumps(record.get("model"))) > LONGEST_MODEL:
            raise InvalidParameter(
                f"the model is longer than {LONGEST_MODEL} characters; evaluate one with fewer coefficients."
            )
        model, table = asked_fitted(record.get("model")), read_own_table(record, session)
        bins = record.get("bins")
        return cls(
            model, features, target, read_budget(record.get("budget")), 20 if bins is None else bins, table
        )

    def ask(self, session: Session) -> Any:
        return session.evaluate(
            self.model, self.features, self.target, self.budget, bins=self.bins, table=self.table
        )

    @property
    def said(self) -> str:
        return "evaluation of " + _about(self.model[-1], self.features, self.target, self.table)

    @property
    def weight(self) -> float:
        return 4.0

    def settled(self, session: Session) -> dict[str, JSON]:
        return {"budget": session._paid(self.budget).record()}

    def price(self, session: Session) -> Price:
        return price_of(self, session, session._paid(self.budget))


@dataclass(frozen=True)
class Synthesize(Request):
    """Synthetic data. How many rows are made of what was measured is up to whoever makes them, and free."""

    tag = "synthesize"
    words = ("columns", "budget", "bins", "private_bins", "marginals", "table", "public")

    columns: Mapping[str, Any]
    budget: Guarantee | None = None
    bins: int = 32
    private_bins: tuple[str, ...] = ()
    marginals: Any = 2
    table: Table | None = None

    @classmethod
    def read(cls, record: Mapping[str, JSON], session: Session) -> Synthesize:
        given = {word: record[word] for word in ("bins", "marginals") if record.get(word) is not None}
        private = record.get("private_bins") or []
        if not isinstance(private, list) or not all(isinstance(name, str) for name in private):
            raise InvalidParameter(f"private_bins is {shown(private)}; it must list numeric columns.")
        columns, budget = (
            synthetic_columns.read_columns(record.get("columns")),
            read_budget(record.get("budget")),
        )
        return cls(
            columns, budget, private_bins=tuple(private), table=read_own_table(record, session), **given
        )

    def ask(self, session: Session) -> Any:
        return session.synthesize(
            self.columns,
            self.budget,
            bins=self.bins,
            private_bins=self.private_bins,
            marginals=self.marginals,
            table=self.table,
        )

    @property
    def said(self) -> str:
        of = "" if self.table is None else steps_in_words(self.table.record())
        return "synthetic data of " + _listed(self.columns) + of

    @property
    def weight(self) -> float:
        return 16.0

    def settled(self, session: Session) -> dict[str, JSON]:
        return {"budget": session._paid(self.budget).record()}

    def price(self, session: Session) -> Price:
        return price_of(self, session, session._paid(self.budget))


KINDS: Mapping[str, type[Request]] = {
    kind.tag: kind for kind in (Release, ReleaseAll, Fit, Infer, Evaluate, Synthesize)
}


def price_of(request: Request, session: Session, budget: Guarantee) -> Price:
    """A budget that was chosen, beside what it comes to."""
    from dalenius.session.travel.outcomes import named

    account = session.account
    return Price.of(budget, named(session, request).cost, account.left(), told_delta(account.filter, None))


def read_question(record: Mapping[str, JSON], session: Session) -> Query | CubeQuery:
    """The question of a request: a record, or {"sql": text}."""
    question = record.get("question")
    if isinstance(question, dict) and "sql" in question:
        if set(question) != {"sql"} or not isinstance(question["sql"], str):
            raise InvalidParameter("a question in SQL is {'sql': 'SELECT ...'} and nothing else.")
        named = record.get("public") or {}
        if not isinstance(named, dict):
            raise InvalidParameter(
                "public tables of a SELECT are an object, by the names that it has for them."
            )
        public = {str(name): PublicTable.from_record(one) for name, one in named.items()}
        keys = record.get("keys")
        return session._read_sql(question["sql"], public, None if keys is None else read_keys(keys))
    if record.get("keys") is not None:
        raise InvalidParameter("keys beside a question are for SQL; a question has its own.")
    return read_query(question, session.table, read_public(record.get("public")))


def read_public(record: JSON) -> list[PublicTable]:
    """The public tables that came with a question."""
    if record is None:
        return []
    if not isinstance(record, list):
        raise InvalidParameter("public tables are a list beside a question.")
    return [PublicTable.from_record(one) for one in record]


def read_own_table(record: Mapping[str, JSON], session: Session) -> Table | None:
    """Which rows are meant, where it is not all of them."""
    table = record.get("table")
    return None if table is None else read_table(table, session.table, read_public(record.get("public")))


def read_columns(word: str, record: JSON) -> Columns | None:
    """Columns or expressions: one as text, several as a list, or with their bounds as an object."""
    if record is None or isinstance(record, str):
        return record
    if isinstance(record, list) and all(isinstance(one, str) for one in record):
        return record
    if isinstance(record, dict):
        return {name: _beside(word, how) for name, how in record.items()}
    raise InvalidParameter(
        f"{word} is {shown(record)}; it must be a column, a list of columns, or columns with their bounds: "
        "{'age': [18, 90]}."
    )


def columns_record(what: str, given: Any) -> dict[str, JSON]:
    """Columns for a request, in their order: what is said beside each, null for what the schema says."""
    return {name: _beside_record(how) for name, how in named_columns(what, given).items()}


def _beside_record(how: Any) -> JSON:
    if how is None:
        return None
    categories: Iterable[Any] | None = how.categories if isinstance(how, Column) else None
    if isinstance(how, Column) and categories is None:
        how = how.bounds
    if categories is None:
        items = list(how) if isinstance(how, Iterable) and not isinstance(how, str) else [how]
        if not items or not all(isinstance(item, str | bool) for item in items):
            return NUMBERS.write(tuple(items))
        categories = items
    return {"categories": CONSTANTS.write(categories)}


def _beside(word: str, how: JSON) -> Any:
    """What stands beside a column: null, two bounds, or categories."""
    if isinstance(how, dict):
        if set(how) != {"categories"}:
            raise InvalidParameter(
                f"{word} says {shown(how)}; beside a column stand bounds, or {{'categories': [...]}}."
            )
        return Column(categories=CONSTANTS.given(f"the categories in {word}", how["categories"]))
    made: tuple[float, ...] | None = NUMBERS.given(f"the bounds in {word}", how)
    if made is not None and len(made) != 2:
        raise InvalidParameter(f"the bounds in {word} are {shown(how)}; they are two numbers.")
    return made


def read_budget(record: JSON) -> Guarantee | None:
    """What an answer may cost, from its record."""
    if record is None:
        return None
    try:
        return from_record(
            {word: value if word == "kind" else NUMBER.plain(value) for word, value in record.items()}
        )
    except (*BROKEN, LedgerError):
        raise InvalidParameter.of(
            "budget",
            f"the budget is {shown(record)}; it must be a promise as it is written down, like "
            '{"kind": "zcdp", "rho": "0.01"}.',
        ) from None


def read_accuracy(record: JSON) -> Within | None:
    """How accurate an answer is to be: {"error": 50, "confidence": 0.95, "column", "rows", "simultaneous"}."""
    if record is None:
        return None
    allowed = ("error", "confidence", "column", "rows", "simultaneous")
    if not isinstance(record, dict) or "error" not in record or not set(record) <= set(allowed):
        raise InvalidParameter.of(
            "accuracy",
            f"the accuracy is {shown(record)}; it must be an object with an 'error' and, where you like, "
            "'confidence', 'column', 'rows' and 'simultaneous'.",
        )
    given = {word: value for word, value in record.items() if value is not None}
    if not isinstance(given.get("column", ""), str):
        raise InvalidParameter.of("accuracy", "the column of an accuracy is its name, as text.")
    return within(**given)


def _about(what: Any, features: Columns, target: Columns | None, table: Table | None) -> str:
    """A model or a test for people: of what, on what, and of which rows."""
    of = _listed(features) if target is None else f"{_listed(target)} on {_listed(features)}"
    parts = [step for _, step in what.steps] if hasattr(what, "named_steps") else [what]
    named = ", ".join(type(part).__name__ for part in parts)
    return f"{named} of {of}" + ("" if table is None else steps_in_words(table.record()))


def _number_of(columns: Columns) -> int:
    return 1 if isinstance(columns, str) else len(list(columns))


def _listed(columns: Columns) -> str:
    return columns if isinstance(columns, str) else ", ".join(columns)
