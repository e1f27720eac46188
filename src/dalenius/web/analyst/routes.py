"""The analyst's pages. All that they do, the API of `asking` does; the SQL box works without a script."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Form, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse, Response

from dalenius.calculus.guarantees import from_record
from dalenius.errors import DaleniusError, Refused
from dalenius.session.travel.requests import read_request
from dalenius.web.analyst import budget as budgets
from dalenius.web.analyst import models
from dalenius.web.analyst.chart import charts, shown
from dalenius.web.analyst.form import COMPARES, WHATS, question, quoted
from dalenius.web.analyst.form import Form as Asked
from dalenius.web.analyst.words import FUNCTIONS, SELECT
from dalenius.web.asking.api import PriceShown, TheDesk
from dalenius.web.asking.asked import Desk
from dalenius.web.datasets import described
from dalenius.web.pages import render
from dalenius.web.problems import Problem, problem_of

router = APIRouter(tags=["asking"])

PAGE = 50
"""Lines of the history on one page."""

Id = Annotated[str, Path(max_length=64)]
Text = Annotated[str, Form(max_length=20_000)]
Word = Annotated[str, Form(max_length=100)]


class Modelled(BaseModel):
    """A model, an estimate or a test, as it was understood, and what it costs."""

    request: dict[str, Any] = Field(description="Ask with it: POST .../releases.")
    said: str = Field(description="The same for people.")
    promise: str = Field(
        description="What it promises: the most that the amount pays for, of the budget's own kind where it can be."
    )
    noise: float = Field(
        description="About how much noise it has, as a multiple of what it has for the usual part of what is left."
    )
    noise_in_words: str = Field(description="The same for people.")
    price: PriceShown = Field(description="What it costs, before paying.")


class Understood(BaseModel):
    """A question, as it was understood."""

    question: dict[str, Any] = Field(description="As Query.record() writes it: ask with it.")
    said: str = Field(description="The same for people.")


@router.post("/api/v1/datasets/{dataset}/questions", summary="The question of a form")
def understood(desk: TheDesk, form: Annotated[Asked, Body(description="What is asked.")]) -> Understood:
    """The record of a question that is put together of parts: the one that Python makes. Nothing is asked."""
    found = question(desk.session.table, form)
    return Understood(question=found.record(), said=bare(repr(found)[1:-1]))


@router.get("/datasets/{dataset}/ask", include_in_schema=False)
def ask_page(request: Request, desk: TheDesk, sql: Annotated[str, Query(max_length=20_000)] = "") -> Response:
    """Ask by a form or in SQL."""
    return _ask_page(request, desk, {"sql": sql})


@router.post("/datasets/{dataset}/ask", include_in_schema=False)
def ask(
    request: Request,
    desk: TheDesk,
    sql: Text = "",
    amount: Word = "",
    error: Word = "",
    rows: Word = "",
    confidence: Word = "0.95",
    act: Word = "price",
) -> Response:
    """See the price of a SELECT, or ask it: what a browser without scripts sends."""
    given = {"sql": sql, "amount": amount, "error": error, "rows": rows, "confidence": confidence}
    try:
        content = _content(desk, given)
        if act == "price":
            expected = _number("rows", rows) if rows.strip() else None
            return _ask_page(request, desk, given, price=desk.price(content, expected))
        status, told = desk.ask(content)
    except DaleniusError as refused:
        problem = problem_of(refused)[0]
        return _ask_page(request, desk, given, problem=problem.document(), status=problem.status_code)
    id = told["id"] if status == 201 else told["release"]
    return RedirectResponse(f"/datasets/{desk.dataset}/answers/{id}", status_code=303)


def _content(desk: Desk, given: dict[str, str]) -> dict[str, Any]:
    content: dict[str, Any] = {"question": {"sql": given["sql"]}}
    if given["error"].strip():
        content["accuracy"] = {"error": _number("error", given["error"])}
        content["accuracy"]["confidence"] = _number("confidence", given["confidence"])
        if given["rows"].strip():
            content["accuracy"]["rows"] = _number("rows", given["rows"])
        return content
    content["confidence"] = _number("confidence", given["confidence"])
    if given["amount"].strip():
        content["budget"] = budgets.of_amount(desk.session.remaining, given["amount"])
    return content


def _number(name: str, text: str) -> float:
    from dalenius.core.checks import shown as said
    from dalenius.errors import InvalidParameter

    try:
        return float(text)
    except ValueError:
        raise InvalidParameter.of(name, f"{name} is {said(text)}; it must be a number.") from None


def _ask_page(
    request: Request, desk: Desk, given: dict[str, str], *, status: int = 200, **more: Any
) -> Response:
    session = desk.session
    data = described(desk.store, desk.settings, desk.dataset, desk.person)
    left = session.remaining
    try:
        first = session._paid(None).record()
    except Refused:  # nothing was settled for a question that does not say
        first = budgets.part(left, budgets.USUAL)
    word, nothing = budgets.leading(left), _nothing_left(session)
    first_table = next(iter(data["tables"]))
    start = {
        "sql": f"SELECT COUNT(*) AS n FROM {_in_sql(first_table)}",
        "amount": "" if nothing else str(first.get(word, "")),
        "error": "",
        "rows": "",
        "confidence": "0.95",
    }
    return render(
        request,
        "ask.html",
        status=status,
        data=data,
        given={**start, **{name: value for name, value in given.items() if value}},
        word=word,
        price=more.get("price"),
        problem=more.get("problem"),
        nothing=nothing,
        shown=shown,
        facts={
            "nothing": nothing,
            "dataset": desk.dataset,
            "tables": data["tables"],
            "left": left.record(),
            "first": first,
            "leading": word,
            "whats": {name: _what(what) for name, what in WHATS.items()},
            "compares": COMPARES,
            "functions": FUNCTIONS,
            "words": SELECT,
        },
    )


def _nothing_left(session: Any) -> str:
    """Why nothing can be paid for, in words; empty where something can."""
    free = "What you asked before is free to read again."
    if session.account.is_closed:
        return f"This data set was closed by its steward: nothing more can be asked of it. {free}"
    if not session.remaining.size:
        return f"Nothing is left to ask with: see the steward. {free}"
    return ""


def _in_sql(name: str) -> str:
    """A table's name as a SELECT has it: in quotes where it would be read as something else."""
    plain = name.isascii() and name.isidentifier() and name.upper() not in " ".join(SELECT).split()
    return name if plain else quoted(name)


def bare(said: str) -> str:
    """A question in words, for a page that says of what data it is."""
    head, colon, rest = said.partition(": ")
    return rest if colon and head.startswith("Query of ") else said


def _what(what: Any) -> dict[str, Any]:
    return {"title": what.title, "column": what.column, "bounds": what.bounds, "level": what.level}


@router.post("/api/v1/datasets/{dataset}/models", summary="The request of a form of models, and its price")
def modelled(desk: TheDesk, form: Annotated[models.Form, Body(description="What is asked.")]) -> Modelled:
    """The request for a model, an estimate or a test that is put together of parts, and what it costs. It is free."""
    return Modelled(**_modelled(desk, form.model_dump()))


def _modelled(desk: Desk, given: dict[str, str]) -> dict[str, Any]:
    if desk.apart is not None:
        return desk.apart.call(_modelled, desk, given)
    session = desk.session
    budget = from_record(budgets.of_amount(session.remaining, given["amount"]))
    content = models.request(session, given, budget)
    made = read_request(content, session)
    noise = budgets.noise(session.remaining, budget)
    return {
        "request": content,
        "said": bare(made.said),
        "promise": repr(models.promise_of(made)),
        "noise": noise,
        "noise_in_words": budgets.noise_in_words(noise),
        "price": desk.price(content),
    }


@router.get("/datasets/{dataset}/ask/model", include_in_schema=False)
def model_page(request: Request, desk: TheDesk) -> Response:
    """Regressions, estimates, tests and models."""
    return _model_page(request, desk, {})


@router.post("/datasets/{dataset}/ask/model", include_in_schema=False)
def ask_model(
    request: Request,
    desk: TheDesk,
    what: Word = "",
    table: Annotated[str, Form(max_length=200)] = "",
    features: Text = "",
    target: Text = "",
    where: Text = "",
    value: Word = "",
    settings: Text = "",
    amount: Word = "",
    act: Word = "price",
) -> Response:
    """See the price of a model or a test, or ask for it."""
    given = {
        "what": what,
        "table": table,
        "features": features,
        "target": target,
        "where": where,
        "value": value,
        "settings": settings,
    }
    try:
        made = _modelled(desk, {**given, "amount": amount})
        if act == "price":
            return _model_page(request, desk, {**given, "amount": amount}, made=made)
        status, told = desk.ask(made["request"])
    except DaleniusError as refused:
        problem = problem_of(refused)[0]
        shown_again = {**given, "amount": amount}
        return _model_page(request, desk, shown_again, problem=problem.document(), status=problem.status_code)
    id = told["id"] if status == 201 else told["release"]
    return RedirectResponse(f"/datasets/{desk.dataset}/answers/{id}", status_code=303)


def _model_page(
    request: Request, desk: Desk, given: dict[str, str], *, status: int = 200, **more: Any
) -> Response:
    session = desk.session
    left = session.remaining
    word = budgets.leading(left)
    nothing = _nothing_left(session)
    start = {
        "what": "linear", "table": "", "features": "", "target": "", "where": "", "value": "", "settings": ""
    }  # fmt: skip
    return render(
        request,
        "ask_model.html",
        status=status,
        data=described(desk.store, desk.settings, desk.dataset, desk.person),
        whats=models.whats(),
        kept=session.account.promise,
        given={**start, "amount": "" if nothing else budgets.part(left, budgets.USUAL)[word], **given},
        nothing=nothing,
        word=word,
        made=more.get("made"),
        problem=more.get("problem"),
        facts={"nothing": nothing, "dataset": desk.dataset, "left": left.record(), "leading": word},
    )


@router.get("/datasets/{dataset}/answers", include_in_schema=False)
def history_page(
    request: Request, desk: TheDesk, page: Annotated[int, Query(ge=1, le=10**6)] = 1
) -> Response:
    """What was asked; to be read again for nothing."""
    data = described(desk.store, desk.settings, desk.dataset, desk.person)
    lines = desk.history(PAGE + 1, PAGE * (page - 1))
    return render(
        request,
        "answers.html",
        data=data,
        lines=lines[:PAGE],
        newer=page - 1,
        older=page + 1 if len(lines) > PAGE else 0,
        bare=bare,
    )


@router.get("/datasets/{dataset}/answers/{id}", include_in_schema=False)
def answer_page(request: Request, desk: TheDesk, id: Id) -> Response:
    """One answer; or how its job stands."""
    line = desk.line(id)
    data = described(desk.store, desk.settings, desk.dataset, desk.person)
    answer, job = None, None
    if line["state"] == "done":
        answer = desk.answer(id)
    elif line["job"] is not None:
        job = desk.jobs.look(line["job"], desk.person.id)
    pictures = charts(answer) if answer is not None else []
    return render(
        request,
        "answer.html",
        data=data,
        line=line,
        answer=answer,
        job=job,
        charts=pictures,
        shown=shown,
        bare=bare,
    )


@router.post("/datasets/{dataset}/answers/{id}/cancel", include_in_schema=False)
def cancel(desk: TheDesk, id: Id) -> Response:
    """Stop waiting for a job; nothing is refunded."""
    line = desk.line(id)
    if line["job"] is None:
        raise Problem(404, "you have asked no such question of this data set.")
    desk.jobs.cancel(line["job"], desk.person.id)
    return RedirectResponse(f"/datasets/{desk.dataset}/answers/{id}", status_code=303)
