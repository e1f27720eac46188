"""Data sets, budgets and the ledger, for programs: everything that the steward's pages do."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, StrictInt
from starlette.responses import HTMLResponse, Response, StreamingResponse

from dalenius.web.datasets import acts, describing, opening, published
from dalenius.web.datasets.facts import MOST_CATEGORIES
from dalenius.web.datasets.history import log_of
from dalenius.web.datasets.holding import held_in
from dalenius.web.datasets.registration import NAME, read_registration
from dalenius.web.datasets.standing import standing_of
from dalenius.web.people.access import Anyone, SignedIn, Steward
from dalenius.web.state import TheSettings, TheStore
from dalenius.web.store import alerts
from dalenius.web.store import datasets as kept

router = APIRouter(prefix="/api/v1", tags=["data sets"])


@contextlib.asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[None]:
    """While the console runs: data sets are opened at its start, and not by the first who asks."""
    given = (app.state.store, app.state.settings)
    threading.Thread(target=opening.open_all, args=given, name="dalenius opens", daemon=True).start()
    yield


Name = Annotated[str, Path(description="The data set.", pattern=f"^{NAME.pattern}$")]
Who = Annotated[str, Path(description="An analyst, by name.", max_length=80, pattern=r"^[^\x00-\x1f]+$")]
Note = Field(None, description="Why; it is kept in the ledger.", max_length=2000)
Amount = float | str | None

STATEMENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"
"""The statement is one file with its style inside, and no script: nothing else is allowed in it."""


class Strict(BaseModel):
    """What is sent must hold nothing else: a word that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid")

    def given(self) -> dict[str, Any]:
        """What was sent, and nothing that was not."""
        return self.model_dump(exclude_unset=True)


class PromiseGiven(Strict):
    """A promise: its kind, and its numbers, as numbers or as exact text."""

    kind: Literal["pure", "approx", "zcdp", "gdp"] = Field(description="What kind of differential privacy.")
    epsilon: Amount = Field(None, description="Of pure and approx.")
    delta: Amount = Field(None, description="Of approx.")
    rho: Amount = Field(None, description="Of zcdp.")
    mu: Amount = Field(None, description="Of gdp.")

    def given(self) -> dict[str, Any]:
        return {word: value for word, value in self.model_dump().items() if value is not None}


class SourceGiven(Strict):
    """Where the data is. Which words are needed depends on the kind; the settings say what is allowed."""

    kind: Literal["file", "database file", "postgres", "spark"] = Field(description="What kind of place.")
    files: str | dict[str, str] | None = Field(
        None, description="Of file: a path inside an allowed folder, or one for each table, by name."
    )
    records: Literal["lines", "quoted"] | None = Field(
        None, description="Of a CSV file: quoted, where line breaks may stand inside quotes."
    )
    file: str | None = Field(None, description="Of a database file: its path inside an allowed folder.")
    tables: str | dict[str, str] | None = Field(
        None, description="In a database: the table, or several by name."
    )
    host: str | None = Field(None, description="Of postgres: a server that the settings list.")
    port: int | None = Field(None, description="Of postgres; 5432, if left out.")
    database: str | None = Field(None, description="Of postgres.")
    user: str | None = Field(None, description="Of postgres: a role that may read these tables.")
    password: str | None = Field(
        None, description="Of postgres. It is kept, and never shown again.", max_length=1000
    )
    sslmode: Literal["prefer", "require", "verify-full", "disable"] | None = Field(
        None, description="Of postgres: how TLS is used to reach it."
    )


class FactsGiven(Strict):
    """What is public about a column: declared by the steward, never read from the data."""

    bounds: list[float | str] | None = Field(
        None, description="Of numbers: lower and upper; values are clamped.", max_length=10
    )
    categories: list[bool | int | float | str] | None = Field(
        None, description="Values that are known to occur; dates as 2026-03-05.", max_length=MOST_CATEGORIES
    )
    nulls: Literal["drop", "never"] | None = Field(
        None, description="What becomes of missing values: left out, or there are none."
    )
    impute: bool | int | float | str | None = Field(None, description="Missing values become this.")
    type: Literal["integer", "number", "text", "bool", "date", "timestamp"] | None = Field(
        None, description="Of a CSV file: what the column is read as."
    )


class UnitGiven(Strict):
    """Who is protected."""

    kind: Literal["row", "id"] = Field(description="Each row, or everybody's rows that share an id.")
    column: str | None = Field(None, description="The id.")
    max_rows: int | dict[str, int] | None = Field(
        None,
        description="How many rows of one of them enter an answer; of several tables, also for each by name.",
    )
    max_groups: int | None = Field(None, description="In how many groups; max_rows, if left out.")


class Terms(Strict):
    """Public facts, and terms. What is left out stays as it is."""

    title: str | None = Field(None, description="One line for people.", max_length=120)
    about: str | None = Field(None, description="Some sentences for people.", max_length=4000)
    facts: dict[str, dict[str, FactsGiven]] | None = Field(None, description="By table and column.")
    unit: UnitGiven | None = Field(None, description="Who is protected. Settled for ever when it is opened.")
    adjacency: Literal["add_remove", "replace_one"] | None = Field(
        None, description="Which two data sets are neighbours. Settled for ever when it is opened."
    )
    budget: PromiseGiven | None = Field(None, description="Settled for ever when it is opened.")
    ceiling: PromiseGiven | None = Field(
        None, description="What the budget may be raised to; part of the promise."
    )
    renewals: int | None = Field(
        None, description="How often it may be renewed; part of the promise.", ge=0, le=1000
    )
    reserve: float | None = Field(
        None, description="Of approx: the part of epsilon set aside for pure releases."
    )
    shares: dict[str, str | float | PromiseGiven] | None = Field(
        None, description="For each analyst a fraction of the budget (0.25 or 1/4), or a promise of its kind."
    )
    per_question: PromiseGiven | None = Field(None, description="What a question is given that does not say.")

    def given(self) -> dict[str, Any]:
        found = {word: value for word, value in super().given().items() if value is not None}
        for word in ("budget", "ceiling", "per_question"):
            if word in found:
                found[word] = getattr(self, word).given()
        if self.shares is not None:
            found["shares"] = {
                name: share.given() if isinstance(share, PromiseGiven) else share
                for name, share in self.shares.items()
            }
        return found


class NewDataset(Terms):
    """A data set to be registered."""

    name: str = Field(description="In addresses and in the ledger; it never changes.", max_length=63)
    title: str = Field(description="One line for people.", max_length=120)
    source: SourceGiven = Field(description="Where the data is.")

    def given(self) -> dict[str, Any]:
        return {**super().given(), "source": self.source.given()}


class Summary(BaseModel):
    """A data set, in short."""

    name: str = Field(description="Names it in the API.")
    title: str = Field(description="For people.")
    state: Literal["draft", "open"] = Field(
        description="A draft has no account yet, and is seen by stewards only."
    )
    published: bool = Field(description="Whether anybody may read what it promises.")


class ColumnShown(BaseModel):
    """A column: its name and kind, and what was declared of it."""

    column: str = Field(description="Its name.")
    kind: str | None = Field(description="What it holds; null where a question cannot use it.")
    bounds: list[float | str] | None = Field(
        description="Values are clamped to these; of dates, the first and the last day."
    )
    categories: list[Any] | None = Field(description="Values that are known to occur.")
    nulls: str | None = Field(description="What becomes of missing values.")
    impute: Any = Field(description="What missing values become.")
    type: str | None = Field(description="What the column of a CSV file is read as.")


class DatasetShown(BaseModel):
    """A data set. A steward sees more of it than those who may ask; nobody sees a row."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(description="Names it in the API.")
    title: str = Field(description="For people.")
    about: str = Field(description="For people.")
    state: Literal["draft", "open"] = Field(description="A draft has no account yet.")
    published: bool = Field(description="Whether anybody may read what it promises.")
    engine: str | None = Field(description="What answers questions.")
    tables: dict[str, list[ColumnShown]] = Field(description="The columns of each table.")
    unit: dict[str, Any] | None = Field(description="Who is protected, as the ledger writes it.")
    budget: dict[str, Any] | None = Field(description="The budget that is open, as the ledger writes it.")


class LineShown(BaseModel):
    """A line of the ledger."""

    model_config = ConfigDict(extra="allow")

    seq: int = Field(description="Counts the entries.")
    time: str = Field(description="When, in UTC.")
    who: str = Field(description="Who asked, or acted.")
    act: str = Field(description="opened, asked, or what a steward did.")
    what: str = Field(description="In words.")


class LedgerShown(BaseModel):
    """How the budget stands, and what was done."""

    standing: dict[str, Any] = Field(description="What is promised, spent and left; shares; alerts.")
    lines: list[LineShown] = Field(description="The oldest first.")


class Left(BaseModel):
    """After an act."""

    left: dict[str, Any] = Field(description="What is left then, as a promise.")


class Raise(Strict):
    """A larger budget."""

    budget: PromiseGiven = Field(description="The new one: of the same kind, and not above the ceiling.")
    note: str | None = Note


class Renew(Strict):
    """One more round."""

    note: str | None = Note


class NewShare(Strict):
    """More for one analyst."""

    analyst: str = Field(description="Who; the data set must be granted to them.", max_length=80)
    share: PromiseGiven = Field(description="How much more, of the budget's kind.")
    note: str | None = Note


class Close(Strict):
    """The end of an account."""

    confirm: str = Field(description="The name of the data set, once more.", max_length=63)
    note: str | None = Note


class Publication(Strict):
    """Whether anybody may read what is promised."""

    published: bool = Field(description="True shows the promise to anybody who has its address.")


class Alerts(Strict):
    """When stewards are to be told."""

    thresholds: list[StrictInt] = Field(
        description="Percents of the open budget, or of an analyst's share: whole numbers from 1 to 99.",
        max_length=50,
    )


class Password(Strict):
    """Another password."""

    password: str = Field(description="It is kept, and never shown again.", max_length=1000)


class VerificationShown(BaseModel):
    """What a verification of the ledger found."""

    sound: bool = Field(description="Whether nothing was changed, removed or spent beyond a budget.")
    checkpoint: str = Field(
        description="The head of the chain; who has it can tell later whether it was cut."
    )
    problems: list[str] = Field(description="What is wrong.")


class PromiseShown(BaseModel):
    """What a data set promises to a person in it."""

    model_config = ConfigDict(extra="allow")

    name: str = Field(description="The data set.")
    title: str = Field(description="For people.")
    who_is_protected: str = Field(description="In words.")
    promise: dict[str, str] = Field(
        description="About all that may ever be released, as the ledger writes it."
    )
    what_an_attacker_gains: list[str] = Field(description="At most, in words.")
    not_promised: list[str] = Field(description="In words.")


@router.get("/datasets", summary="The data sets I see")
def everything(person: SignedIn, store: TheStore) -> list[Summary]:
    """All of them, for a steward; those that are granted, for an analyst."""
    found = []
    for each in describing.seen(store, person):
        registration = read_registration(each.registration)
        found.append(
            Summary(
                name=each.name,
                title=registration.title,
                state=each.state,  # type: ignore[arg-type]
                published=registration.published,
            )
        )
    return found


@router.post("/datasets", status_code=201, summary="Register a data set")
def register(by: Steward, store: TheStore, settings: TheSettings, new: NewDataset) -> DatasetShown:
    """A draft: nothing is promised before it is opened. Its source is opened for the names and kinds of its columns."""
    name = acts.register(store, settings, by, new.given()).name
    return DatasetShown(**describing.described(store, settings, name, by))


@router.get("/datasets/{name}", summary="One data set")
def one(person: SignedIn, store: TheStore, settings: TheSettings, name: Name) -> DatasetShown:
    """Its columns and their public facts, who is protected, and what is left of the budget."""
    return DatasetShown(**describing.described(store, settings, name, person))


@router.patch("/datasets/{name}", summary="Change a data set")
def change(by: Steward, store: TheStore, settings: TheSettings, name: Name, terms: Terms) -> DatasetShown:
    """Other words and facts; other terms as long as it is a draft. All that is wrong is told at once."""
    acts.rewrite(store, settings, by, name, terms.given())
    return DatasetShown(**describing.described(store, settings, name, by))


@router.delete("/datasets/{name}", status_code=204, summary="Remove a draft")
def forget(by: Steward, store: TheStore, name: Name) -> None:
    """What was opened stays for ever."""
    acts.forget(store, by, name)


@router.post("/datasets/{name}/open", summary="Open the account")
def open_account(by: Steward, store: TheStore, settings: TheSettings, name: Name) -> DatasetShown:
    """From now on the terms hold for ever, and those to whom it is granted may ask."""
    acts.open_account(store, settings, by, name)
    return DatasetShown(**describing.described(store, settings, name, by))


@router.put("/datasets/{name}/published", summary="Publish what it promises, or no longer")
def publish(
    by: Steward, store: TheStore, settings: TheSettings, name: Name, change: Publication
) -> DatasetShown:
    """The page at /promise/{name} is then for anybody."""
    acts.publish(store, by, name, change.published)
    return DatasetShown(**describing.described(store, settings, name, by))


@router.get("/datasets/{name}/alerts", summary="When stewards are told")
def read_alerts(_: Steward, store: TheStore, name: Name) -> Alerts:
    """Percents of the budget; that all is spent is always told."""
    acts.known(store, name)
    with store.reading() as connection:
        return Alerts(thresholds=list(alerts.thresholds(connection, name)))


@router.put("/datasets/{name}/alerts", summary="Say when stewards are told")
def set_alerts(by: Steward, store: TheStore, name: Name, change: Alerts) -> Alerts:
    """On the pages of the data set, and in what the API tells of it."""
    return Alerts(thresholds=list(acts.set_alerts(store, by, name, change.thresholds)))


@router.put("/datasets/{name}/password", status_code=204, summary="Change the source's password")
def password(by: Steward, store: TheStore, name: Name, change: Password) -> None:
    """It is kept by the server, and no answer holds it."""
    acts.set_password(store, by, name, change.password)


@router.get("/datasets/{name}/grants", summary="Who may ask")
def grants(_: Steward, store: TheStore, name: Name) -> list[str]:
    """Analysts by name."""
    acts.known(store, name)
    with store.reading() as connection:
        return [each.name for each in kept.who_may_ask(connection, name)]


@router.put("/datasets/{name}/grants/{analyst}", status_code=204, summary="Let an analyst ask")
def grant(by: Steward, store: TheStore, name: Name, analyst: Who) -> None:
    """Where the budget is shared they also need a share."""
    acts.set_grant(store, by, name, analyst, True)


@router.delete("/datasets/{name}/grants/{analyst}", status_code=204, summary="No longer let an analyst ask")
def withdraw(by: Steward, store: TheStore, name: Name, analyst: Who) -> None:
    """What was answered stays on record."""
    acts.set_grant(store, by, name, analyst, False)


@router.post("/datasets/{name}/raise", summary="Raise the budget")
def raise_budget(by: Steward, store: TheStore, settings: TheSettings, name: Name, act: Raise) -> Left:
    """Within the ceiling that was settled when it was opened. The promise does not change."""
    return Left(left=acts.raise_budget(store, settings, by, name, act.budget.given(), act.note).record())


@router.post("/datasets/{name}/renew", summary="Renew the budget")
def renew(by: Steward, store: TheStore, settings: TheSettings, name: Name, act: Renew) -> Left:
    """As often as was settled when it was opened. The promise does not change."""
    return Left(left=acts.renew(store, settings, by, name, act.note).record())


@router.post("/datasets/{name}/shares", summary="Grant a share")
def share(by: Steward, store: TheStore, settings: TheSettings, name: Name, act: NewShare) -> Left:
    """From then on only those with a share may spend."""
    left = acts.grant_share(store, settings, by, name, act.analyst, act.share.given(), act.note)
    return Left(left=left.record())


@router.post("/datasets/{name}/close", status_code=204, summary="Close the account for ever")
def close(by: Steward, store: TheStore, settings: TheSettings, name: Name, act: Close) -> None:
    """Nothing more is charged to it. What was answered can be read again."""
    acts.close_for_ever(store, settings, by, name, act.confirm, act.note)


@router.get("/datasets/{name}/ledger", summary="The ledger of a data set")
def ledger(
    request: Request,
    _: Steward,
    store: TheStore,
    settings: TheSettings,
    name: Name,
    after: Annotated[int, Query(description="Only lines with a larger seq.", ge=0, le=2**62)] = 0,
) -> LedgerShown:
    """Who asked what and when, what it cost, and what was left after it."""
    account = acts.account_of(store, settings, name)
    with store.reading() as connection:
        verified = kept.last_verification(connection)
        thresholds = alerts.thresholds(connection, name)
    terms = read_registration(acts.known(store, name).registration).terms
    log = log_of(opening.ledger(store, settings), name, held_in(request, name))
    return LedgerShown(
        standing=standing_of(
            account, None if terms is None else terms.ceiling, verified, thresholds
        ).record(),
        lines=[LineShown(**line.to_dict()) for line in log if line.seq > after],
    )


@router.get(
    "/datasets/{name}/statement",
    summary="The statement of a year",
    response_class=HTMLResponse,
    responses={200: {"description": "A page that needs nothing else."}},
)
def statement(
    _: Steward,
    store: TheStore,
    settings: TheSettings,
    name: Name,
    year: Annotated[int | None, Query(description="This one, if left out.", ge=1970, le=9998)] = None,
) -> Response:
    """What was promised, what was spent by whom on what, and what that means for a person."""
    acts.account_of(store, settings, name)
    made = opening.ledger(store, settings).statement(year, name)
    return HTMLResponse(made.html, headers={"Content-Security-Policy": STATEMENT_POLICY})


@router.post("/ledger/verify", summary="Verify the ledger")
def verify(by: Steward, store: TheStore, settings: TheSettings) -> VerificationShown:
    """Every entry is read anew; it must hold what it held when it was last found sound."""
    found = acts.verify(store, settings, by)
    return VerificationShown(sound=found.ok, checkpoint=found.checkpoint, problems=found.problems)


@router.get(
    "/ledger/export",
    summary="Export the ledger",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/x-ndjson": {}}, "description": "Lines of JSON."}},
)
def export(
    by: Steward,
    store: TheStore,
    settings: TheSettings,
    readable: Annotated[
        bool, Query(description="For people: questions as JSON objects, and in words.")
    ] = False,
) -> Response:
    """The whole of it. Not readable: the copy can be checked without the ledger."""
    return StreamingResponse(
        _with_ends(acts.export(store, settings, by, readable)),
        media_type="application/x-ndjson",
        headers={"Content-Disposition": 'attachment; filename="ledger.jsonl"'},
    )


@router.get("/promises", summary="Published promises")
def promises(_: Anyone, store: TheStore) -> list[str]:
    """The names of the data sets whose promise anybody may read."""
    return [each.name for each in published.all_published(store)]


@router.get("/promises/{name}", summary="What a data set promises")
def promise(_: Anyone, store: TheStore, name: Name) -> PromiseShown:
    """To a person in it, in plain words: from its terms, and never from a row."""
    return PromiseShown(**published.published(store, name).record())


def _with_ends(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n"
