"""Every attack says what it takes and gives, with an example, as all public names do."""

from __future__ import annotations

import pytest
from numpydoc.validate import validate

import dalenius as dp
from tests.test_docstrings import CODES


@pytest.mark.parametrize("name", dp.audit.attacks.__all__)
def test_docstrings(name: str) -> None:
    problems = [text for code, text in validate(f"dalenius.audit.attacks.{name}")["errors"] if code in CODES]
    assert problems == []
