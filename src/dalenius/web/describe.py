"""The OpenAPI document of the console: FastAPI's, with who may use each operation, and problems as what they are."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from dalenius.web.people.access import RULES, rule_of
from dalenius.web.problems import MEDIA_TYPE

SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token, as a steward or the page of yourself makes it.",
}
PROBLEM = {"$ref": "#/components/schemas/ProblemShown"}


def described(app: FastAPI) -> dict[str, Any]:
    """The document; made once."""
    if app.openapi_schema is None:
        app.openapi_schema = _made(app)
    return app.openapi_schema


def _made(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    document.setdefault("components", {})["securitySchemes"] = {"token": SCHEME}
    for route in app.state.routes:
        for method in route.methods if route.include_in_schema else ():
            operation = document["paths"][route.path_format][method.lower()]
            rule = RULES[rule_of(route) or ""]
            operation["security"] = [{"token": []}, *([{}] if rule.open else [])]
            operation["x-roles"] = list(rule.roles) if not rule.open else ["anyone"]
            for status in ("4XX", "5XX"):
                operation["responses"][status]["content"] = {MEDIA_TYPE: {"schema": PROBLEM}}
    return document
