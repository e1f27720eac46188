"""Aggregates are found through one list, and what is not there is an error."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from dalenius.errors import LedgerError
from dalenius.tables.aggregates import KINDS, Aggregate, from_record
from tests.tables import aggregates as package


def test_every_kind_has_a_contract() -> None:
    import importlib
    import pkgutil

    from tests.tables.aggregate_contract import AggregateContract

    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    tested = {type(cls.asked) for cls in AggregateContract.__subclasses__()}
    assert tested == set(KINDS)


def test_a_kind_that_lacks_a_method_cannot_be_made() -> None:
    @dataclass(frozen=True)
    class Unfinished(Aggregate):
        tag = "unfinished"

    with pytest.raises(TypeError, match="abstract"):
        Unfinished()  # type: ignore[abstract]


@pytest.mark.parametrize("wrong", [{}, {"kind": None}, {"kind": ["mean"]}, {"kind": "Mean"}, {"column": "x"}])
def test_an_unknown_record_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(LedgerError, match="unknown kind"):
        from_record(wrong)


def test_tags_are_frozen() -> None:
    """Written into ledgers: none may ever change or be used for another kind."""
    assert [kind.tag for kind in KINDS] == [
        *("count", "count_distinct", "sum", "mean", "variance", "std", "covariance", "correlation"),
        *("proportion", "histogram", "quantiles", "bounds", "mode", "top_k", "adaptive_quantile"),
        "smooth_quantile",
        "proposed_quantile",
    ]
