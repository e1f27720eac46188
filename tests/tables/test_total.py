"""No value can make a question fail: the types of PostgreSQL that hold more than doubles and calendars do."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from dalenius.errors import QueryRefused
from dalenius.tables import Schema, Source, Unit, bounds, count, exact, histogram, mean, median, sum
from tests.servers.postgres import PostgresServer

ROWS = """
    CREATE TABLE odd (id uuid, n numeric, d date, t timestamp, c char(3), f float8, r real);
    INSERT INTO odd VALUES
        ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'NaN', 'infinity', 'infinity', 'ab', 'NaN', 'NaN'),
        ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1e400', '-infinity', '-infinity', 'ab ', 'inf', '-inf'),
        ('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '-1e400', '4000-02-28 BC', '2000-01-01', 'x', 5e-324, 1e-45),
        ('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '1e-400', '99999-01-01', '2000-01-01', 'x', 1e-310, 3e38),
        (NULL, 'Infinity', '2000-06-01', NULL, NULL, -1.7e308, -3e38),
        (NULL, 0.5, NULL, '2000-06-01', 'y', 0.5, 0.5);
"""


@pytest.fixture(scope="module")
def source(postgres_server: PostgresServer) -> Iterator[Source]:
    url = postgres_server.fresh()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(ROWS)
    opened = Source.open(url, table="odd")
    yield opened
    opened.close()


EXPRESSIONS = [
    *(
        "n",
        "f",
        "r",
        "n * n",
        "n / n",
        "f * f",
        "f / f",
        "r * r * r",
        "f * 2 + n",
        "n - f",
        "sqrt(n)",
        "abs(f)",
        "-f",
    ),
    *(
        "floor(f)",
        "ceil(n)",
        "floor(n * f)",
        "year(d)",
        "month(t)",
        "year(cast(t as date))",
        "coalesce(f, n)",
    ),
    *("case when n > f then n else f end", "least(n, f, r)", "f * f * f * f * f * f * f", "n / f / r"),
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_expression_has_a_value(source: Source, text: str) -> None:
    table = source.table(Schema(nulls="drop"))
    query = table.filter(f"{text} < 10 or {text} >= 10 or id is null").agg(
        n=count(),
        m=mean(text, (-1, 1)),
        w=sum(text, (-1e100, 1e100)),
        h=histogram(text, 3, (-1, 1)),
        q=median(text, (0, 1e9)),
    )
    assert exact.evaluate(source, query, Unit("id", max_rows=9))[query.measures[0]].tolist()[0] >= 0


def test_values(source: Source) -> None:
    table = source.table(Schema(nulls="drop"))
    query = table.agg(n=count("n"), f=count("f"), y=count("year(d)"), s=sum("n", (-1, 1)), b=bounds("f"))
    found = exact.evaluate(source, query, Unit.rows())
    numbers = [found[measure].tolist() for measure in query.measures]
    assert numbers[:3] == [[5], [5], [5]]  # NaN is no number; dates beyond the calendar are its ends
    (total,) = [m for m in query.measures if m.kind == "sum"]
    assert found[total][0] * total.granularity == 1.5  # 1 - 1 + 0 + 1 + 0.5


def test_blanks_at_the_end(source: Source) -> None:
    """To char(3), 'ab' equals 'ab ': a row would be in both groups."""
    with pytest.raises(QueryRefused, match="different texts can be equal"):
        source.table(Schema(nulls="drop")).group_by("c", keys=["ab", "ab "])
