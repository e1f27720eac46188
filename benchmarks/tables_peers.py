"""Run by the Python of the peers' environment: one question about a table as JSON on stdin, one answer out.

    {"peer": "opendp", "task": "grouped", "path": "rows.parquet", "groups": 1000}
    -> {"answer": 1.0, "seconds": [1.9], "error": null}

This file imports nothing of this package.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import time
from typing import Any


def opendp_grouped(path: str, groups: int) -> Any:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=0.1),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=200_000_000)],
    )
    keys = pl.LazyFrame({"g": list(range(groups))}, schema={"g": pl.Int64})
    query = (
        context.query()
        .group_by("g")
        .agg(dp.len(), pl.col("x").fill_nan(50.0).fill_null(50.0).dp.sum((0.0, 100.0)))
        .with_keys(keys)
    )
    return query.release().collect()


def opendp_median(path: str, groups: int) -> Any:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=0.1),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=200_000_000)],
    )
    candidates = [i * 0.5 for i in range(201)]
    query = context.query().select(pl.col("x").fill_nan(50.0).fill_null(50.0).dp.median(candidates))
    return query.release().collect()


def diffprivlib_median(path: str, groups: int) -> Any:
    import diffprivlib.tools
    import polars as pl

    values = pl.read_parquet(path, columns=["x"])["x"].to_numpy()
    return diffprivlib.tools.median(values, epsilon=1.0, bounds=(0.0, 100.0))


TASKS = {
    ("opendp", "grouped"): opendp_grouped,
    ("opendp", "median"): opendp_median,
    ("diffprivlib", "median"): diffprivlib_median,
}


def main() -> None:
    question = json.loads(sys.stdin.read())
    if question["task"] == "versions":
        names = ("opendp", "diffprivlib", "polars")
        print(json.dumps({name: importlib.metadata.version(name) for name in names}))
        return
    run = TASKS[question["peer"], question["task"]]
    for module in ("opendp.prelude", "polars", "diffprivlib.tools"):
        importlib.import_module(module)
    start = time.perf_counter()
    try:
        run(question["path"], question["groups"])
        seconds, error = time.perf_counter() - start, None
    except Exception as problem:
        seconds, error = time.perf_counter() - start, f"{type(problem).__name__}: {problem}"[:300]
    print(json.dumps({"answer": 1.0, "seconds": [seconds], "error": error}))


if __name__ == "__main__":
    main()
