"""One table question in a process of its own: `python -m benchmarks.tables_run CASE PARQUET` prints seconds
and peak memory.

Run by `benchmarks.tables`. Cases named plain_* are DuckDB alone.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

GROUPS = 1000
LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]


def plain(sql: str) -> Callable[[str], Any]:
    def run(path: str) -> Any:
        import duckdb

        return duckdb.sql(sql.format(path=path)).fetchall()

    return run


def session(path: str, unit: Any = None) -> Any:
    import dalenius as dp

    facts = dp.Schema({"x": {"bounds": (0, 100)}, "id": {}}, nulls="never")
    return dp.Session(path, unit=unit or dp.Unit.rows(), budget=dp.ZCDP(1e3), schema=facts)


def grouped(path: str) -> Any:
    import dalenius as dp

    s = session(path)
    q = s.table.group_by("g", keys=list(range(GROUPS))).agg(n=dp.count(), m=dp.mean("x"))
    return s.release(q, dp.ZCDP(0.1)).to_dict()


def quantiles(path: str) -> Any:
    import dalenius as dp

    s = session(path)
    return s.release(s.table.agg(q=dp.quantiles("x", LEVELS)), dp.ZCDP(0.1)).to_dict()


def median(path: str) -> Any:
    import dalenius as dp

    s = session(path)
    return s.release(s.table.agg(q=dp.median("x")), dp.ZCDP(0.1)).to_dict()


def by_id(path: str) -> Any:
    import dalenius as dp

    s = session(path, dp.Unit("id", max_rows=4))
    q = s.table.group_by("g", keys=list(range(GROUPS))).agg(n=dp.count(), m=dp.mean("x"))
    return s.release(q, dp.ZCDP(0.1)).to_dict()


def spark(path: str) -> Any:
    from pyspark.sql import SparkSession

    import dalenius as dp

    found = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    s = session(found.read.parquet(path))
    q = s.table.group_by("g", keys=list(range(GROUPS))).agg(n=dp.count(), m=dp.mean("x"))
    return s.release(q, dp.ZCDP(0.1)).to_dict()


CASES: dict[str, Callable[[str], Any]] = {
    "grouped": grouped,
    "plain_grouped": plain("SELECT g, count(*), avg(x) FROM '{path}' GROUP BY g"),
    "quantiles": quantiles,
    "median": median,
    "plain_quantiles": plain("SELECT approx_quantile(x, [0.1, 0.25, 0.5, 0.75, 0.9]) FROM '{path}'"),
    "by_id": by_id,
    "plain_by_id": plain(
        "SELECT g, count(*), avg(x) FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY hash(g, x)) "
        "AS k FROM '{path}') WHERE k <= 4 GROUP BY g"
    ),
    "spark": spark,
}


def main() -> None:
    case, path = sys.argv[1:3]
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        CASES[case](path)
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": seconds, "peak": peak}))


if __name__ == "__main__":
    main()
