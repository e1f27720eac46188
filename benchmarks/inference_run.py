"""One measurement of a regression, in a process of its own: `inference_run.py CASE FOLDER ROWS COLUMNS`.

It runs in our environment and in the peers' (statsmodels), so nothing of dalenius is imported unless the case is ours.
The warm-up is the same call on a few rows. Prints JSON: seconds, processor seconds, and memory in MB: in all (`peak`),
and what came with the call (`more`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FEW = 2000


def parts(folder: Path, rows: int, columns: int, binary: bool) -> tuple[Any, Any]:
    """The rows as arrays, as much of them as is asked for."""
    X = np.load(folder / f"X{columns}.npy", mmap_mode="r")[:rows]
    y = np.load(folder / f"{'c' if binary else 'y'}{columns}.npy", mmap_mode="r")[:rows]
    return np.array(X), np.array(y)


def statsmodels_case(kind: str) -> Callable[[Path, int, int], Callable[[], Any]]:
    def prepared(folder: Path, rows: int, columns: int) -> Callable[[], Any]:
        import statsmodels.api as sm

        X, y = parts(folder, rows, columns, kind == "logit")
        models = {
            "rlm": lambda: sm.RLM(y, sm.add_constant(X), M=sm.robust.norms.HuberT()).fit(),
            "ols": lambda: sm.OLS(y, sm.add_constant(X)).fit(),
            "logit": lambda: sm.Logit(y, sm.add_constant(X)).fit(disp=0),
        }
        return lambda: models[kind]().conf_int()

    return prepared


def on_arrays(kind: str) -> Callable[[Path, int, int], Callable[[], Any]]:
    def prepared(folder: Path, rows: int, columns: int) -> Callable[[], Any]:
        import dalenius as dp

        X, y = parts(folder, rows, columns, kind == "logistic")
        regression = dp.infer.logistic_regression if kind == "logistic" else dp.infer.linear_regression
        return lambda: regression(X, y, dp.GDP(1.0), bounds=[(-5, 5)] * columns).conf_int()

    return prepared


def in_session(kind: str) -> Callable[[Path, int, int], Callable[[], Any]]:
    def prepared(folder: Path, rows: int, columns: int) -> Callable[[], Any]:
        import dalenius as dp

        name = f"rows{columns}.parquet" if rows > FEW else f"few{columns}.parquet"
        names = [f"x{j}" for j in range(columns)]
        facts = {name: {"bounds": (-5, 5)} for name in names} | {"y": {"bounds": (-60, 60)}}
        settings = dp.infer.LogisticRegression if kind == "logistic" else dp.infer.LinearRegression

        def asked() -> Any:
            session = dp.Session(
                folder / name,
                unit=dp.Unit.rows(),
                budget=dp.GDP(1.0),
                schema=dp.Schema(facts, nulls="drop"),
                ledger=folder / f"{time.time_ns()}.ledger",
            )
            target = "c" if kind == "logistic" else "y"
            return session.infer(settings(guarantee=dp.GDP(0.999)), names, target).conf_int()

        return asked

    return prepared


def one_column(kind: str) -> Callable[[Path, int, int], Callable[[], Any]]:
    def prepared(folder: Path, rows: int, columns: int) -> Callable[[], Any]:
        import dalenius as dp

        name = f"rows{columns}.parquet" if rows > FEW else f"few{columns}.parquet"
        promise = dp.GDP(0.999)
        estimate = dp.infer.Mean(promise) if kind == "mean" else dp.infer.Median(promise)

        def asked() -> Any:
            session = dp.Session(
                folder / name,
                unit=dp.Unit.rows(),
                budget=dp.GDP(1.0),
                schema=dp.Schema({"y": {"bounds": (-60, 60)}}, nulls="drop"),
                ledger=folder / f"{time.time_ns()}.ledger",
            )
            return session.infer(estimate, "y").conf_int()

        return asked

    return prepared


CASES: dict[str, Callable[[Path, int, int], Callable[[], Any]]] = {
    "RLM": statsmodels_case("rlm"),
    "OLS": statsmodels_case("ols"),
    "Logit": statsmodels_case("logit"),
    "linear on arrays": on_arrays("linear"),
    "logistic on arrays": on_arrays("logistic"),
    "linear in a session": in_session("linear"),
    "logistic in a session": in_session("logistic"),
    "mean in a session": one_column("mean"),
    "median in a session": one_column("median"),
}


def main() -> None:
    case, folder, rows, columns = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    CASES[case](folder, FEW, columns)()
    call = CASES[case](folder, rows, columns)
    before = in_memory("VmRSS")
    forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = in_memory("VmHWM")
    print(json.dumps({"seconds": wall, "cpu": cpu, "peak": peak, "more": max(peak - before, 0.0)}))


def in_memory(word: str) -> float:
    """MB, now (VmRSS) or at most (VmHWM); getrusage would count what the parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(word))


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    main()
