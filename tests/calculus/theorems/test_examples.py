from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from dalenius.calculus import theorems

MODULES = [module.name for module in pkgutil.iter_modules(theorems.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    module = importlib.import_module(f"{theorems.__name__}.{name}")
    assert doctest.testmod(module).failed == 0


def test_every_public_function_has_an_example() -> None:
    for name in theorems.__all__:
        item = getattr(theorems, name)
        if not isinstance(item, type):
            assert ">>>" in (item.__doc__ or ""), name
