"""What does this promise me? A page for anybody, for each data set whose steward publishes it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from dalenius.web.datasets import published
from dalenius.web.datasets.registration import read_registration
from dalenius.web.pages import Link, render
from dalenius.web.people.access import Anyone
from dalenius.web.state import TheStore

router = APIRouter(include_in_schema=False)
LINKS = (Link("Promises", "/promise"),)


@router.get("/promise")
def promises(request: Request, _: Anyone, store: TheStore) -> Response:
    """The data sets whose promise anybody may read."""
    found = [
        (each.name, read_registration(each.registration).title) for each in published.all_published(store)
    ]
    return render(request, "datasets/promises.html", found=found)


@router.get("/promise/{name}")
def promise(request: Request, _: Anyone, store: TheStore, name: str) -> Response:
    """One of them, in plain words."""
    return render(request, "datasets/promise.html", promise=published.published(store, name))
