"""The front door: light, typed, complete."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dalenius

ROOT = Path(__file__).resolve().parents[1]


def test_import_is_light() -> None:
    heavy = "{'numpy', 'scipy', 'typer', 'rich', 'matplotlib', 'flint'}"
    code = f"import dalenius, sys; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr


def test_is_typed() -> None:
    assert importlib.resources.files("dalenius").joinpath("py.typed").is_file()


def test_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert dalenius.__version__ == project["version"] == importlib.metadata.version("dalenius")


@pytest.mark.parametrize("name", dalenius.__all__)
def test_public_name_resolves(name: str) -> None:
    assert getattr(dalenius, name) is not None
    assert name in dir(dalenius)


def test_every_line_of_the_stub_is_read() -> None:
    stub = Path(dalenius.__file__ + "i").read_text()
    lines = [line for line in stub.splitlines() if line and not line.startswith("#")]
    assert len(lines) == len(dalenius.__all__)


@pytest.mark.parametrize("first", ["dalenius.calculus.calibrate", "dalenius"])
def test_calibrate_is_the_function(first: str) -> None:
    """There is a module of that name one floor down; importing it first must not hide the function."""
    code = f"import {first}; import dalenius; print(type(dalenius.calibrate).__name__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "function", run.stderr


@pytest.mark.parametrize("name", ["errors", "losses", "theorems"])
def test_rooms_are_modules(name: str) -> None:
    room = getattr(dalenius, name)
    assert inspect.ismodule(room)
    assert room.__file__ is not None  # an empty folder would pass for a module, too


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = dalenius.no_such_name


def test_unknown_name_is_an_attribute_error_in_a_base_install() -> None:
    """Rooms that need what is not installed are passed over, and those that can be opened are looked through."""
    code = """
import sys
for name in ("cloudpickle", "sklearn", "ibis", "duckdb", "pandas", "pyarrow", "yaml", "sqlglot", "httpx", "matplotlib"):
    sys.modules[name] = None
import dalenius
print(hasattr(dalenius, "no_such_name"))
try:
    dalenius.RandomizedResponse
except AttributeError as problem:
    print(problem)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.splitlines() == [
        "False",
        "module 'dalenius' has no attribute 'RandomizedResponse': it is dp.mechanisms.RandomizedResponse",
    ], run.stderr
