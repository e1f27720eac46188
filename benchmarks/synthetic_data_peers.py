"""Run by the Python of a peer's environment: one method on one coded table.

    {"method": "dpmm AIM", "epsilon": 1.0, "delta": 1e-9, "repetition": 0, "sizes": {"sex": 2, ...},
     "codes": "train.npy", "out": "synthetic.npy"}                                   as JSON on stdin
    -> {"seconds": 881.0, "cpu": 1500.0, "peak": 700.0, "version": "0.1.9"}          as the last line of stdout

Every method gets the public sizes of the columns, the whole budget for its fit, and makes as many rows as it got.
This file imports nothing of this package.
"""

from __future__ import annotations

import importlib.metadata
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

MODEL_SIZE = 80
"""Megabytes that a graphical model may have, where a method takes a limit."""


def dpmm(
    method: str, epsilon: float, delta: float, repetition: int, frame: Any, sizes: dict[str, int]
) -> Any:
    from dpmm.models.aim import AIMGM
    from dpmm.models.mst import MSTGM
    from dpmm.models.priv_bayes import PrivBayesGM

    made = {"AIM": AIMGM, "MST": MSTGM, "PrivBayes": PrivBayesGM}[method]
    model = made(epsilon=epsilon, delta=delta, max_model_size=MODEL_SIZE)
    model.set_domain(sizes)
    model.set_random_state(np.random.RandomState(repetition))
    model.check_fit(frame)
    model.fit(frame)
    return model.generate(n_records=len(frame))


def smartnoise(
    method: str, epsilon: float, delta: float, repetition: int, frame: Any, sizes: dict[str, int]
) -> Any:
    from snsynth.transform import ChainTransformer, LabelTransformer, TableTransformer

    # Codes are categories; every code of the public domain is named, and nothing is spent on finding them.
    columns = []
    for size in sizes.values():
        label = LabelTransformer(nullable=False)
        label.fit(list(range(size)))
        columns.append(ChainTransformer([label]))
    transformer = TableTransformer(columns)
    transformer._fit_finish()
    if method == "MST":
        from snsynth.mst import MSTSynthesizer as Synthesizer

        settings: dict[str, Any] = {"delta": delta}
    elif method == "AIM":
        from snsynth.aim import AIMSynthesizer as Synthesizer

        settings = {"delta": delta, "max_model_size": MODEL_SIZE}
    else:
        from snsynth.mwem import MWEMSynthesizer as Synthesizer

        settings = {"split_factor": 2}
    np.random.seed(repetition)  # noqa: NPY002  (what the peer draws from)
    synthesizer = Synthesizer(epsilon=epsilon, **settings)
    synthesizer.fit(frame, transformer=transformer, categorical_columns=list(sizes))
    return synthesizer.sample(len(frame)).astype(int)


PEERS: dict[str, Callable[..., Any]] = {"dpmm": dpmm, "smartnoise": smartnoise}
PACKAGES = {"dpmm": "dpmm", "smartnoise": "smartnoise-synth"}


def main() -> None:
    warnings.simplefilter("ignore")
    question = json.load(sys.stdin)
    peer, method = question["method"].split()
    sizes = question["sizes"]
    frame = pd.DataFrame(np.load(question["codes"]), columns=list(sizes))
    wall, cpu = time.perf_counter(), time.process_time()
    made = PEERS[peer](method, question["epsilon"], question["delta"], question["repetition"], frame, sizes)
    found = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    found["cpu"] += children.ru_utime + children.ru_stime
    found["peak"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + children.ru_maxrss) / 1024
    found["version"] = importlib.metadata.version(PACKAGES[peer])
    np.save(question["out"], pd.DataFrame(made)[list(sizes)].to_numpy().astype(np.int64))
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
