"""A page from its template, with what every page has: who is signed in, the way around, the CSRF word."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.responses import HTMLResponse

from dalenius import __version__

STATIC = Path(__file__).with_name("static")

templates = Environment(
    loader=PackageLoader("dalenius.web.pages", "templates"),
    autoescape=True,  # every template, whatever its name ends in
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True)
class Link:
    """A way to a page, shown at the top to those who may go there. roles: empty for everybody."""

    title: str
    href: str
    roles: tuple[str, ...] = ()


def static(name: str) -> str:
    """The address of a file of pages/static; another one for each version, so that no old one is used."""
    return f"/static/{name}?v={__version__}"


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """The page of a template.

    Beside what is given a template finds `person` (or None), `links`, `path`, `csrf()` for its forms, `csrf_word`, and
    `static(name)`.
    """
    person = getattr(request.state, "person", None)
    word = getattr(request.state, "csrf", "")
    links = [
        link
        for link in getattr(request.app.state, "links", ())
        if not link.roles or (person is not None and person.role in link.roles)
    ]
    page = templates.get_template(template).render(
        person=person,
        links=links,
        path=request.url.path,
        csrf=lambda: Markup('<input type="hidden" name="csrf" value="{}">').format(word),
        csrf_word=word,
        static=static,
        **context,
    )
    return HTMLResponse(page, status_code=status)
