"""The text of a question: the same for the same question, another for any other. Its digest is the ledger's key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.adjacency import Adjacency, adjacency_record
from dalenius.core.record import JSON, headed
from dalenius.tables.ask.query import Query, Table
from dalenius.tables.facts.unit import Unit

FORMAT, VERSION = "dalenius question", 2


def of_release(query: Query, price: Guarantee, unit: Unit, adjacency: Adjacency) -> str:
    """One question at its price."""
    return _written("release", unit, adjacency, {"query": query.record(), "price": price.record()})


def of_plan(queries: Mapping[str, Query], price: Guarantee, unit: Unit, adjacency: Adjacency) -> str:
    """Several questions, each by its name, at one price for all."""
    asked = {name: query.record() for name, query in queries.items()}
    return _written("release_all", unit, adjacency, {"queries": asked, "price": price.record()})


def of_fit(
    model: Mapping[str, JSON],
    query: Query,
    unit: Unit,
    adjacency: Adjacency,
    features: Mapping[str, JSON] | None = None,
) -> str:
    """A model, whose promise is its price, and the sums that stand for its features and its target.

    features: which of the sums are categories of one column, where any are: they are scaled otherwise.
    """
    content = {"model": model, "query": query.record()}
    if features is not None:
        content["features"] = features
    return _written("fit", unit, adjacency, content)


def of_fit_targets(
    model: Mapping[str, JSON],
    query: Query,
    unit: Unit,
    adjacency: Adjacency,
    features: Mapping[str, JSON] | None = None,
) -> str:
    """As `of_fit` for several targets, the last sums of the query: the model's promise is the price of all of them."""
    content = {"model": model, "query": query.record()}
    if features is not None:
        content["features"] = features
    return _written("fit_targets", unit, adjacency, content)


def of_inference(estimator: Mapping[str, JSON], query: Query, unit: Unit, adjacency: Adjacency) -> str:
    """An estimator, whose promise is its price, and the sums that stand for its columns."""
    return _written("infer", unit, adjacency, {"estimator": estimator, "query": query.record()})


def of_synthesis(
    columns: Sequence[Mapping[str, JSON]],
    marginals: JSON,
    table: Table,
    price: Guarantee,
    unit: Unit,
    adjacency: Adjacency,
) -> str:
    """Columns in their codes, the marginals that matter, and the price; not how many rows are made, which is free."""
    content = {
        "columns": list(columns),
        "marginals": marginals,
        "table": table.record(),
        "price": price.record(),
    }
    return _written("synthesize", unit, adjacency, content)


def of_feed(query: Query, price: Guarantee, unit: Unit, adjacency: Adjacency) -> str:
    """A question that is answered for one period after another, at one price for all."""
    return _written("continual", unit, adjacency, {"query": query.record(), "price": price.record()})


def of_periods(feed: str, done: int, unit: Unit, adjacency: Adjacency) -> str:
    """What is measured next in a feed, by its digest, after `done` periods: at no further price."""
    return _written("continual periods", unit, adjacency, {"feed": feed, "after": done})


def of_test(test: Mapping[str, JSON], query: Query, unit: Unit, adjacency: Adjacency) -> str:
    """A test, whose promise is its price, and the sums that stand for its columns."""
    return _written("test", unit, adjacency, {"test": test, "query": query.record()})


def of_evaluation(
    model: Mapping[str, JSON],
    query: Query,
    bins: int,
    price: Guarantee,
    unit: Unit,
    adjacency: Adjacency,
) -> str:
    """A saved model but for its loss, the sums that stand for its columns, bins of probability, and the price."""
    content = {"model": model, "query": query.record(), "bins": bins, "price": price.record()}
    return _written("evaluate", unit, adjacency, content)


def _written(kind: str, unit: Unit, adjacency: Adjacency, content: Mapping[str, JSON]) -> str:
    return headed(
        FORMAT,
        VERSION,
        {"kind": kind, "unit": unit.record(), "adjacency": adjacency_record(adjacency), **content},
    )
