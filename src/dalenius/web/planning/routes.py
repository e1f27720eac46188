"""The planner's page and its JSON. Nobody has to sign in: nothing here is about any data."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from dalenius.errors import InvalidParameter
from dalenius.web.pages import Link, render
from dalenius.web.people.access import anyone
from dalenius.web.planning import plans
from dalenius.web.planning.desk import Desk
from dalenius.web.planning.sliders import SLIDERS
from dalenius.web.planning.view import Planned, told

router = APIRouter(tags=["planner"])
LINKS = (Link("Planner", "/plan"),)
DESK = Desk()
FIRST_LOOK = 1.0
"""Seconds that the page itself waits for the fine curve: it may be read without a script."""

Text = Annotated[str | None, Query(max_length=plans.LONGEST)]


@router.get("/plan", dependencies=[Depends(anyone)], include_in_schema=False)
def page(request: Request) -> Response:
    """The planner, with the plan of the link."""
    given = dict(request.query_params)
    problem, plan = "", None
    try:
        plan = plans.read(given)
    except InvalidParameter as refused:
        problem = str(refused)
    kind = plan.kind if plan is not None else given.get("kind", "")
    kind = kind if kind in plans.KINDS else plans.Training.kind
    shown = plan or plans.KINDS[kind].default()
    values = {
        **shown.parameters(),
        **({} if plan else {k: v for k, v in given.items() if k in shown.parameters()}),
    }
    seen = told(DESK.look(shown, FIRST_LOOK))
    return render(
        request,
        "plan.html",
        status=422 if problem else 200,
        kinds=plans.KINDS,
        kind=kind,
        values={name: plans.text(value) for name, value in values.items()},
        sliders=SLIDERS[kind],
        plan=seen,
        problem=problem,
    )


@router.get(
    "/api/v1/plan",
    dependencies=[Depends(anyone)],
    response_model=Planned,
    summary="What a planned release would promise",
)
def planned(
    request: Request,
    kind: Annotated[str | None, Query(description="training (the default) or answers")] = None,
    delta: Annotated[Text, Query(description="the chance that the epsilon leaves out, in [0, 1)")] = None,
    steps: Annotated[Text, Query(description="training: how many steps, up to 1e7")] = None,
    rate: Annotated[Text, Query(description="training: a record's chance to be in a step, 1e-7 to 1")] = None,
    noise: Annotated[
        Text,
        Query(description="training: noise over clipping norm, 0.3 to 1000; answers: laplace or gaussian"),
    ] = None,
    error: Annotated[Text, Query(description="answers: the error that each may have")] = None,
    confidence: Annotated[
        Text, Query(description="answers: how often it may not be larger, 0.5 to 0.999999")
    ] = None,
    change: Annotated[
        Text, Query(description="answers: how much one record changes an answer at most")
    ] = None,
    questions: Annotated[Text, Query(description="answers: how many, up to 100000")] = None,
    wait: Annotated[float, Query(ge=0, le=2, description="seconds to wait for the whole of it")] = 0.02,
) -> Any:
    """Certified bounds. What takes long is answered with what is known; ask again until `complete` is true."""
    given = {name: value for name, value in request.query_params.items() if name != "wait"}
    return told(DESK.look(plans.read(given), wait))
