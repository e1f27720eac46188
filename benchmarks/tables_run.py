"""One table question in a process of its own: `python -m benchmarks.tables_run CASE PARQUET` prints seconds
and peak memory.

Run by `benchmarks.tables`. Cases named plain_* are DuckDB alone.
"""

from __future__ import annotations

import json
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


def discovered(path: str) -> Any:
    import dalenius as dp

    facts = dp.Schema({"x": {"bounds": (0, 100)}, "id": {}}, nulls="never")
    s = dp.Session(path, unit=dp.Unit.rows(), budget=dp.ApproxDP(1e3, 1e-3), schema=facts)
    q = s.table.group_by("g", keys=dp.discover()).agg(n=dp.count(), m=dp.mean("x"))
    return s.release(q, dp.ApproxDP(1.0, 1e-7)).to_dict()


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


def spark_session() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()


def plain_spark(path: str) -> Any:
    from pyspark.sql import functions

    found = spark_session().read.parquet(path).groupBy("g")
    return found.agg(functions.count("*"), functions.avg("x")).collect()


def spark(path: str) -> Any:
    import dalenius as dp

    s = session(spark_session().read.parquet(path))
    q = s.table.group_by("g", keys=list(range(GROUPS))).agg(n=dp.count(), m=dp.mean("x"))
    return s.release(q, dp.ZCDP(0.1)).to_dict()


CASES: dict[str, Callable[[str], Any]] = {
    "grouped": grouped,
    "discovered": discovered,
    "plain_grouped": plain("SELECT g, count(*), avg(x) FROM '{path}' GROUP BY g"),
    "quantiles": quantiles,
    "median": median,
    "plain_median": plain("SELECT approx_quantile(x, 0.5) FROM '{path}'"),
    "plain_quantiles": plain("SELECT approx_quantile(x, [0.1, 0.25, 0.5, 0.75, 0.9]) FROM '{path}'"),
    "by_id": by_id,
    "plain_by_id": plain(
        "SELECT g, count(*), avg(x) FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY hash(g, x)) "
        "AS k FROM '{path}') WHERE k <= 4 GROUP BY g"
    ),
    "spark": spark,
    "plain_spark": plain_spark,
}


def main() -> None:
    case, path, small = sys.argv[1:4]
    times = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    CASES[case](small)  # everything is imported and has run once
    before, seconds = memory("VmRSS"), []
    with open("/proc/self/clear_refs", "w") as command:
        command.write("5")  # the peak is measured from here
    for _ in range(times):
        start = time.perf_counter()
        CASES[case](path)
        seconds.append(time.perf_counter() - start)
    peak = memory("VmHWM")
    print(json.dumps({"seconds": seconds, "peak": peak, "more": peak - before}))


def memory(what: str) -> int:
    """Bytes of memory of this process, now or at their most; `getrusage` would count those of its parent, too."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(what))


if __name__ == "__main__":
    main()
