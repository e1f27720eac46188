"""Every public function, class and method says what it takes, gives and refuses, with an example that runs.

The examples themselves are run as doctests.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterator
from operator import attrgetter

import pytest
from numpydoc.validate import validate

import dalenius as dp

CODES = ("GL08", "PR01", "PR02", "PR03", "PR07", "RT01", "EX01")
"""What numpydoc's linter is asked to find: no docstring; a parameter that is missing, unknown, out of order or not
described; nothing said of what is returned; no example."""

HELD = ("Session", "Ledger", "Loss", "Schema", "Unit")
"""Classes whose methods people call. A method needs no example of its own: its class has one."""


def public() -> Iterator[str]:
    """The names of the front door and of its rooms, and the methods of the classes people hold in their hands."""
    for name in dp.__all__:
        value = getattr(dp, name)
        if inspect.ismodule(value):
            for inner in getattr(value, "__all__", ()):
                if inspect.isclass(getattr(value, inner)) or inspect.isroutine(getattr(value, inner)):
                    yield f"{name}.{inner}"
        elif inspect.isclass(value) or inspect.isroutine(value):
            yield name
            methods = vars(value) if name in HELD else {}
            yield from (
                f"{name}.{method}"
                for method, body in methods.items()
                if not method.startswith("_") and (inspect.isroutine(body) or isinstance(body, classmethod))
            )


@pytest.mark.parametrize("name", sorted(set(public())))
def test_public_docstrings(name: str) -> None:
    value = attrgetter(name)(dp)
    exempt = {"EX01"} if name.split(".")[0] in HELD and "." in name else set()
    if inspect.isclass(value) and issubclass(value, BaseException | enum.Enum):
        exempt = {"EX01", "PR01"}
    problems = [
        text for code, text in validate(f"dalenius.{name}")["errors"] if code in CODES and code not in exempt
    ]
    assert problems == []
