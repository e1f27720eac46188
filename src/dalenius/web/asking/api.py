"""Asking for programs: what a data set is, what a question costs, its answer, and what was asked before."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, FastAPI, Header, Path, Query, Response
from fastapi import Request as HTTPRequest
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from dalenius.session.travel.description import description, standing
from dalenius.web.asking import downloads
from dalenius.web.asking.apart import Apart
from dalenius.web.asking.asked import Desk
from dalenius.web.jobs.api import TheJobs
from dalenius.web.people.access import Analyst
from dalenius.web.quick import quickly
from dalenius.web.state import TheSettings, TheStore

router = APIRouter(prefix="/api/v1/datasets/{dataset}", tags=["asking"])

Dataset = Annotated[str, Path(description="The data set, by its name.", max_length=63)]
Id = Annotated[str, Path(description="As the answer, or the history, gives it.", max_length=64)]


async def desk_of(
    request: HTTPRequest,
    person: Analyst,
    store: TheStore,
    settings: TheSettings,
    jobs: TheJobs,
    dataset: Dataset,
) -> Desk:
    """Where this analyst asks of this data set."""
    return Desk(store, settings, jobs, person, dataset, request.app.state.apart)


@contextlib.asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[None]:
    """While the console runs, requests that take long to plan are planned beside it."""
    settings = app.state.settings
    app.state.apart = apart = Apart(settings) if settings.isolation == "process" else None
    try:
        yield
    finally:
        if apart is not None:
            apart.close()


TheDesk = Annotated[Desk, Depends(desk_of)]


class Asking(BaseModel):
    """A request. What is in a question is described in the documentation of the record format."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "question": {"sql": "SELECT COUNT(*) AS n FROM people"},
                    "budget": {"kind": "zcdp", "rho": "0.01"},
                }
            ]
        },
    )

    kind: str = Field(
        "release",
        description="release (a question), release_all (several as one plan), fit (a model), infer (a regression, an "
        "estimate or a test), evaluate (a fitted classifier), or synthesize (synthetic data).",
        max_length=40,
    )
    question: dict[str, Any] | None = Field(
        None, description="Of a release: as Query.record() writes it, or {'sql': 'SELECT ...'}."
    )
    questions: dict[str, Any] | None = Field(None, description="Of release_all: questions by name.")
    keys: dict[str, Any] | None = Field(
        None, description="Beside SQL: the groups, where the data set's description does not list them."
    )
    public: list[Any] | dict[str, Any] | None = Field(
        None, description="Public tables that are joined: a list beside a question, by name beside SQL."
    )
    budget: dict[str, Any] | None = Field(
        None,
        description="What it may cost: {'kind': 'zcdp', 'rho': '0.01'}. Left out: the budget per question.",
    )
    accuracy: dict[str, Any] | None = Field(
        None,
        description="In place of a budget: {'error': 50, 'confidence': 0.95}, and 'column', 'rows', 'simultaneous'.",
    )
    confidence: float | None = Field(None, description="Of the intervals; 0.95, if left out.", gt=0, lt=1)
    model: dict[str, Any] | None = Field(
        None,
        description="Of a fit: the model with its promise. Of an evaluation: 'features', 'model' and 'released' of a "
        "fitted one, as dp.learn.to_json writes them.",
    )
    estimator: dict[str, Any] | None = Field(None, description="Of an inference: the estimator or test.")
    features: str | list[Any] | dict[str, Any] | None = Field(
        None, description="Columns or expressions, with their bounds where nothing else says them."
    )
    target: str | list[Any] | dict[str, Any] | None = Field(None, description="What is explained.")
    table: dict[str, Any] | None = Field(
        None, description="Of all but questions, which have their own: fewer rows than all."
    )
    bins: int | None = Field(
        None,
        description="Of an evaluation: of the probability. Of synthetic data: of numbers.",
        ge=1,
        le=10**6,
    )
    columns: list[Any] | dict[str, Any] | None = Field(
        None, description="Of synthetic data: columns, with bounds, bins, categories or days beside them."
    )
    private_bins: list[str] | None = Field(
        None,
        description="Of synthetic data: numbers whose bins have about equally many rows.",
        max_length=1000,
    )
    marginals: int | list[Any] | None = Field(
        None, description="Of synthetic data: what is to be accurate: sets of so many columns, or these sets."
    )

    def content(self) -> dict[str, Any]:
        """What was said."""
        given = {word: getattr(self, word) for word in self.model_fields_set}
        return {word: value for word, value in given.items() if value is not None}


class PriceShown(BaseModel):
    """What a request costs, before paying."""

    budget: dict[str, Any] = Field(description="What it would be given.")
    budget_in_words: str = Field(description="The same for people.")
    affordable: bool = Field(description="Whether so much is left.")
    free: bool = Field(description="Whether the answer is on record, and costs nothing.")
    epsilon: float = Field(description="What the budget means, at `delta`; rounded up.")
    delta: float = Field(description="See epsilon.")
    times: int = Field(description="How often what is left pays for it.")
    assumes: str = Field(description="What the accuracy rests on, beyond what is public.")
    in_words: str = Field(description="All of it in one line.")
    errors: list[dict[str, Any]] = Field(
        description="For each number asked for: the error that it stays within, or why that cannot be said."
    )


class ColumnShown(BaseModel):
    """A column of an answer."""

    name: str = Field(description="Its name.")
    role: str = Field(description="key, estimate, error, low, high or other.")
    of: str | None = Field(description="The estimate it belongs to.")


class AnswerShown(BaseModel):
    """An answer. It can be looked at as often as one likes."""

    id: str = Field(description="Names it in the history.")
    kind: str = Field(description="What was asked for.")
    said: str = Field(description="The question for people.")
    question: Any = Field(description="The question, as the ledger writes it.")
    budget: dict[str, Any] | None = Field(
        description="What it was given; null where a model has its own promise."
    )
    cost_in_words: str | None = Field(description="The same for people.")
    free: bool = Field(description="Whether it was on record, and cost nothing.")
    charged: str | None = Field(description="When it was charged, for the first time, in UTC.")
    key: str = Field(description="The digest of the question, under which the ledger files it.")
    answer: dict[str, Any] = Field(
        description="The ledger's record, of which dp.connect makes the same answer."
    )
    confidence: float | None = Field(None, description="Of the intervals.")
    columns: list[ColumnShown] | None = Field(None, description="The table's columns.")
    rows: list[list[Any]] | None = Field(None, description="The table's rows; null for what is not a number.")
    note: str | None = Field(None, description="What to bear in mind.")
    answers: dict[str, Any] | None = Field(None, description="Of several questions: a table for each.")
    summary: str | None = Field(
        None, description="Of a model, an inference, an evaluation or synthetic data: in words."
    )
    model: dict[str, Any] | None = Field(
        None, description="Of a fit: the model, as dp.learn.from_json reads it."
    )
    models: dict[str, Any] | None = Field(None, description="Of a fit of several targets: the same for each.")


class JobGiven(BaseModel):
    """A request that is carried out in the background."""

    release: str = Field(description="Names the request in the history.")
    said: str = Field(description="The question for people.")
    job: str = Field(description="Ask /api/v1/jobs/{job} for it.")
    state: str | None = Field(None, description="Where the job is.")


class LineShown(BaseModel):
    """One line of the history."""

    id: str = Field(description="Names it.")
    kind: str = Field(description="What was asked for.")
    said: str = Field(description="The question for people.")
    asked: str = Field(description="When it was first asked, in UTC.")
    state: str = Field(description="done, or the state of its job.")
    budget: dict[str, Any] | None = Field(description="What it was given.")
    job: str | None = Field(description="Its job, where there is one.")


Request = Annotated[Asking, Body(description="What is asked.")]


@router.get("/description")
def described(desk: TheDesk) -> dict[str, Any]:
    """All that a program needs to build the same questions: columns, public facts, unit, and how the account stands."""
    return description(desk.session)


@router.get("/standing")
def stands(desk: TheDesk) -> dict[str, Any]:
    """How the account stands: exact numbers, as the ledger writes them, and what is left in words."""
    session = desk.session
    return {**standing(session), "left_in_words": session.left_in_words()}


@router.post("/price")
def price(
    desk: TheDesk,
    asked: Request,
    rows: Annotated[
        float | None,
        Query(
            description="Of means and the like: rows that a group has, about, for their errors.",
            gt=0,
            le=1e15,
        ),
    ] = None,
) -> PriceShown:
    """What a request would cost. It is free."""
    return PriceShown(**desk.price(asked.content(), rows))


@router.post(
    "/releases",
    response_model=None,
    status_code=201,
    responses={201: {"model": AnswerShown}, 202: {"model": JobGiven, "description": "It is under way."}},
)
async def ask(
    desk: TheDesk,
    asked: Request,
    idempotency_key: Annotated[
        str | None,
        Header(
            description="A word of your own for this request: if both come again, it is not carried out twice.",
            max_length=200,
        ),
    ] = None,
) -> Any:
    """Ask. What is on record is answered at once and for nothing; all else is charged, and carried out by a job."""
    given = (asked.content(), idempotency_key)
    at_once = await quickly(_answer, desk.at_once, *given)
    return at_once or await run_in_threadpool(_answer, desk.ask, *given)


def _answer(ask: Callable[..., Any], *given: Any) -> Any:
    if (found := ask(*given)) is None:
        return None
    status, told = found
    shown = AnswerShown(**told) if status == 201 else JobGiven(**told)
    return JSONResponse(shown.model_dump(mode="json", exclude_none=status == 202), status)


@router.get("/releases")
def history(
    desk: TheDesk,
    most: Annotated[int, Query(description="At most so many.", ge=1, le=1000)] = 100,
    skip: Annotated[int, Query(description="After so many that are newer.", ge=0, le=10**9)] = 0,
) -> list[LineShown]:
    """What you have asked of this data set, the newest first."""
    return [LineShown(**line) for line in desk.history(most, skip)]


@router.get("/releases/{id}.csv", response_class=PlainTextResponse)
def as_csv(desk: TheDesk, id: Id) -> Response:
    """One of your answers as CSV; a text that a spreadsheet would take for a formula has an apostrophe before it. Of
    several answers one table, whose first column names the answer; of synthetic data the rows."""
    return _file(downloads.as_csv(*desk.outcome(id)), "text/csv; charset=utf-8", f"{id}.csv")


@router.get("/releases/{id}.md", response_class=PlainTextResponse)
def as_markdown(desk: TheDesk, id: Id) -> Response:
    """One of your answers as a Markdown table."""
    return _file(downloads.as_markdown(*desk.outcome(id)), "text/markdown; charset=utf-8", f"{id}.md")


@router.get("/releases/{id}.parquet", response_class=Response)
def as_parquet(desk: TheDesk, id: Id) -> Response:
    """One of your answers as a Parquet file."""
    return _file(downloads.as_parquet(*desk.outcome(id)), "application/vnd.apache.parquet", f"{id}.parquet")


@router.get("/releases/{id}.model.json", response_class=Response)
def as_model(desk: TheDesk, id: Id) -> Response:
    """The model of a fit, as dp.learn.load reads it."""
    return _file(downloads.as_model(*desk.outcome(id)), "application/json", f"{id}.model.json")


@router.get("/releases/{id}")
def answer(desk: TheDesk, id: Id) -> AnswerShown:
    """One of your answers, from the record."""
    return AnswerShown(**desk.answer(id))


def _file(content: bytes, kind: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=kind, headers=headers)
