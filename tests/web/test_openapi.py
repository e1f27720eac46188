"""The API does what its document says: random requests made from it never fail, and answers are as described."""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.generation.modes import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.sample import WHOLE
from tests.web.console import Console
from tests.web.test_datasets import whole

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SEEDED = settings(
    max_examples=30 if WHOLE else 3,  # of each operation, as it may be and as it may not: 1.8 s more for each
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """With a data set, so that not everything ends with a name that nobody has."""
    with Console.made(Path(tmp_path_factory.mktemp("openapi")), calls_per_minute=10**6) as made:
        pd.DataFrame({"person": [1, 2], "age": [20, 30]}).to_parquet(made.data / "people.parquet")
        steward = made.api("Stella")
        assert steward.post("/api/v1/datasets", json=whole("people")).status_code == 201
        assert steward.post("/api/v1/datasets/people/open").status_code == 200
        assert steward.put("/api/v1/datasets/people/grants/Anna").status_code < 300
        yield made


def test_random_requests(console: Console) -> None:
    """Every operation, by somebody who may: what is sent is made from the document, and partly against it."""
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", console.app)
    seen = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        name = "Anna" if operation.definition.raw["x-roles"] == ["analyst"] else "Stella"
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            with contextlib.suppress(Unsatisfiable):  # where nothing is sent, nothing can be sent wrong
                _tried(operation.as_strategy(generation_mode=mode), console.bearer(name))
        seen += 1
    assert seen >= 10


def _tried(cases: Any, headers: dict[str, str]) -> None:
    @SEEDED
    @given(case=cases)
    def run(case: Any) -> None:
        for word in {"name", "dataset"} & set(case.path_parameters or ()):
            case.path_parameters[word] = "people"
        case.call_and_validate(headers=headers, checks=CHECKS)

    run()


def test_every_operation_and_field_is_described(console: Console) -> None:
    document = console.client.get("/api/v1/openapi.json").json()
    missing = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            told = operation.get("description") and operation.get("summary") and operation.get("x-roles")
            missing += [] if told else [f"{method} {path}"]
            for parameter in operation.get("parameters", ()):
                missing += [] if parameter.get("description") else [f"{method} {path}: {parameter['name']}"]
    for name, model in document["components"]["schemas"].items():
        for field, value in model.get("properties", {}).items():
            missing += [] if value.get("description") else [f"{name}.{field}"]
    assert missing == []


def test_the_page_of_the_api_has_every_operation_and_who_may(console: Console) -> None:
    """Made of the document: no operation, role or parameter is missing, and nothing comes from elsewhere."""
    page = console.client.get("/api/v1")
    assert page.status_code == 200
    text = html.unescape(page.text)
    document = console.client.get("/api/v1/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            roles = ", ".join(operation["x-roles"])
            assert f'<code>{method.upper()} {path}</code> <span class="soft">{roles}</span>' in text
            for parameter in operation.get("parameters", []):
                assert f"<code>{parameter['name']}</code>" in text
    for field in ("idempotency-key", "private_bins", "estimator"):
        assert f"<code>{field}</code>" in text.lower()
    assert not re.search(r'(src|href)="(https?:)?//', page.text)
    assert 'href="/api/v1"' in console.client.get("/", headers={"Accept": "text/html"}).text
