"""The examples in the docstrings run, and every public name has one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from dalenius import noise

MODULES = sorted(f"dalenius.noise.{module.name}" for module in pkgutil.iter_modules(noise.__path__))


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module)
    assert failed == 0


@pytest.mark.parametrize("name", noise.__all__)
def test_public_names_have_an_example(name: str) -> None:
    assert ">>>" in (getattr(noise, name).__doc__ or "")
