"""Run by the Python of the peers' environment: questions about the local model as JSON on stdin, answers out.

    {"peer": "pure-ldp", "task": "collect", "counts": [5, 3, 2], "repeats": 10,
     "cases": [{"mechanism": "OptimizedUnaryEncoding", "epsilon": 1.0}]}
    -> {"answers": [{"errors": [0.01, ...], "seconds": [0.2, ...]}]}

An error is the mean over answers of the squared difference between the estimated and the true share, of one
collection. Times are processor seconds of reports and estimates together. This file imports nothing of this package.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Collect = Callable[[Any], Any]


def pure_ldp(task: str, epsilon: float, k: int) -> Collect:
    """Client and server of the package; shares as its server estimates them, without normalisation."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    def collect(values: Any) -> Any:
        options: dict[str, Any] = {}
        if task == "HadamardResponse":
            server = HadamardResponseServer(epsilon, k, index_mapper=lambda x: x)
            client = HadamardResponseClient(epsilon, k, server.get_hash_funcs(), index_mapper=lambda x: x)
        else:
            clients = {
                "RandomizedResponse": (DEClient, DEServer),
                "SymmetricUnaryEncoding": (UEClient, UEServer),
                "OptimizedUnaryEncoding": (UEClient, UEServer),
                "LocalHashing": (LHClient, LHServer),
            }[task]
            if task == "OptimizedUnaryEncoding":
                options["use_oue"] = True
            if task == "LocalHashing":
                options["use_olh"] = True
            client, server = (part(epsilon, k, index_mapper=lambda x: x, **options) for part in clients)
        for value in values.tolist():
            server.aggregate(client.privatise(value))
        return np.asarray(server.estimate_all(range(k), suppress_warnings=True), dtype=float) / len(values)

    return collect


def multi_freq_ldpy(task: str, epsilon: float, k: int) -> Collect:
    """Client and aggregator of the package; it makes negative shares 0 and scales the rest to add up to 1."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

    optimal = task == "OptimizedUnaryEncoding"
    ways: dict[str, tuple[Any, Any]] = {
        "RandomizedResponse": (
            lambda v: GRR_Client(v, k, epsilon),
            lambda reports: GRR_Aggregator_MI(reports, k, epsilon),
        ),
        "SubsetSelection": (
            lambda v: SS_Client(v, k, epsilon),
            lambda reports: SS_Aggregator_MI(reports, k, epsilon),
        ),
        "LocalHashing": (
            lambda v: LH_Client(v, k, epsilon),
            lambda reports: LH_Aggregator_MI(reports, k, epsilon),
        ),
    }
    unary = (
        lambda v: UE_Client(v, k, epsilon, optimal),
        lambda reports: UE_Aggregator_MI(reports, epsilon, optimal),
    )
    client, aggregator = ways.get(task, unary)
    return lambda values: np.asarray(aggregator([client(v) for v in values.tolist()]), dtype=float)


PEERS = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy}


def answer(question: dict[str, Any]) -> dict[str, Any]:
    if question["task"] == "versions":
        return {name: importlib.metadata.version(name) for name in ("numpy", *PEERS)}
    counts = np.array(question["counts"])
    values, truth = np.repeat(np.arange(len(counts)), counts), counts / counts.sum()
    answers = []
    for case in question["cases"]:
        collect = PEERS[question["peer"]](case["mechanism"], case["epsilon"], len(counts))
        collect(values[:10])  # what is compiled at the first call is not timed
        errors, seconds = [], []
        for _ in range(question["repeats"]):
            start = time.process_time()
            found = collect(values)
            seconds.append(time.process_time() - start)
            errors.append(float(np.mean((found - truth) ** 2)))
        answers.append({"errors": errors, "seconds": seconds})
    return {"answers": answers}


def main() -> None:
    warnings.simplefilter("ignore")
    question = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        found = answer(question)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
