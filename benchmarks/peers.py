"""Run by the Python of the peers' environment: one question as JSON on stdin, one answer on stdout.

    {"peer": "dp-accounting", "task": "epsilon", "parts": [...], "delta": 1e-5}
    -> {"answer": 6.18, "seconds": [0.5, ...], "error": null}

Only the accounting is timed, from the description of the mechanisms to the number; imports are not.
This file imports neither dalenius nor anything of this package: it lives in another environment.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import math
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

Part = dict[str, Any]
Answer = float | list[float]

EPS_ERROR = 0.01
MEMORY = 8 * 2**30
"""Bytes a peer may hold at a point of the box."""


def dp_accounting_epsilon(parts: list[Part], delta: float) -> Answer:
    """PLDAccountant at its default discretisation (1e-4): compose the event, get_epsilon."""
    import dp_accounting
    from dp_accounting import pld

    accountant = pld.PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    for part in parts:
        accountant.compose(dp_accounting_event(part))
    return float(accountant.get_epsilon(delta))


def dp_accounting_event(part: Part) -> Any:
    import dp_accounting as d

    kind = part["kind"]
    if kind == "laplace":
        event: Any = d.LaplaceDpEvent(part["scale"])
    elif kind == "gaussian":
        event = d.GaussianDpEvent(part["sigma"])
    elif kind == "sampled_gaussian":
        event = d.PoissonSampledDpEvent(part["rate"], d.GaussianDpEvent(part["sigma"]))
    elif kind == "randomized_response":
        event = d.RandomizedResponseDpEvent(flip(part["epsilon"]), 2)
    else:
        raise NotImplementedError(f"dp-accounting has no {kind}")
    return event if part["times"] == 1 else d.SelfComposedDpEvent(event, part["times"])


def dp_accounting_direct(parts: list[Part], delta: float) -> Answer:
    """The PLDs the accountant would make, composed by hand: the accountant takes randomized
    response and Laplace under no common relation but REPLACE_SPECIAL, and drops the count of the former."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    total: Any = None
    for part in parts:
        kind = part["kind"]
        if kind == "laplace":
            one = pld.from_laplace_mechanism(part["scale"])
        elif kind == "gaussian":
            one = pld.from_gaussian_mechanism(part["sigma"])
        elif kind == "sampled_gaussian":
            one = pld.from_gaussian_mechanism(part["sigma"], sampling_prob=part["rate"])
        elif kind == "randomized_response":
            one = pld.from_randomized_response(flip(part["epsilon"]), 2)
        else:
            raise NotImplementedError(f"dp-accounting has no {kind}")
        one = one if part["times"] == 1 else one.self_compose(part["times"])
        total = one if total is None else total.compose(one)
    return float(total.get_epsilon_for_delta(delta))


def dp_accounting_replace_one(parts: list[Part], delta: float) -> Answer:
    """PLDAccountant under REPLACE_ONE, where it takes randomized response."""
    import dp_accounting
    from dp_accounting import pld

    accountant = pld.PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    for part in parts:
        accountant.compose(dp_accounting_event(part))
    return float(accountant.get_epsilon(delta))


def dp_accounting_calibrate(rate: float, steps: int, epsilon: float, delta: float) -> Answer:
    """calibrate_dp_mechanism with all its defaults (tol 1e-6 in sigma, bracket searched from [0, 1])."""
    import dp_accounting
    from dp_accounting import pld

    def event(sigma: float) -> Any:
        one = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
        return dp_accounting.SelfComposedDpEvent(one, steps)

    return float(dp_accounting.calibrate_dp_mechanism(pld.PLDAccountant, event, epsilon, delta))


def prv_epsilon(parts: list[Part], delta: float) -> Answer:
    """PRVAccountant(eps_error=0.01, delta_error=delta/1000).compute_epsilon: lower, estimate, upper."""
    import prv_accountant as p

    (part,) = parts
    mechanism = p.PoissonSubsampledGaussianMechanism(
        noise_multiplier=part["sigma"], sampling_probability=part["rate"]
    )
    accountant = p.PRVAccountant(
        prvs=[mechanism],
        max_self_compositions=[part["times"]],
        eps_error=EPS_ERROR,
        delta_error=delta / 1000,
    )
    return [float(x) for x in accountant.compute_epsilon(delta=delta, num_self_compositions=[part["times"]])]


def dp_accounting_box(parts: list[Part], delta: float, mesh: float) -> Answer:
    """PLDAccountant at this discretisation, on runs of sampled Gaussian and Laplace noise."""
    import dp_accounting as d
    from dp_accounting import pld

    accountant = pld.PLDAccountant(
        d.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=mesh
    )
    for part in parts:
        event = {"gaussian": d.GaussianDpEvent, "laplace": d.LaplaceDpEvent}[part["kind"]](part["noise"])
        sampled = d.PoissonSampledDpEvent(part["rate"], event)
        accountant.compose(sampled, part["times"])
    return float(accountant.get_epsilon(delta))


def prv_box(parts: list[Part], delta: float) -> Answer:
    return prv_epsilon([{**part, "sigma": part["noise"]} for part in parts], delta)


def flip(epsilon: float) -> float:
    """dp-accounting's noise parameter: with this probability the answer is a fair coin."""
    return 2.0 / (1.0 + math.exp(epsilon))


TASKS: dict[tuple[str, str], Callable[..., Answer]] = {
    ("dp-accounting", "epsilon"): dp_accounting_epsilon,
    ("dp-accounting", "direct"): dp_accounting_direct,
    ("dp-accounting", "replace_one"): dp_accounting_replace_one,
    ("dp-accounting", "calibrate"): dp_accounting_calibrate,
    ("dp-accounting", "box"): dp_accounting_box,
    ("prv-accountant", "epsilon"): prv_epsilon,
    ("prv-accountant", "box"): prv_box,
}


def repetitions(first: float) -> int:
    """How many more runs after a first one of this many seconds; none: the first one stands."""
    return 7 if first < 1.0 else 3 if first < 3.0 else 2 if first < 8.0 else 0


def stop(number: int, frame: object) -> None:
    raise TimeoutError("stopped")


def answer(question: dict[str, Any]) -> dict[str, Any]:
    peer, task = question.pop("peer"), question.pop("task")
    if task == "versions":
        names = ("dp-accounting", "prv-accountant", "numpy", "scipy")
        return {name: importlib.metadata.version(name) for name in names}
    # Loaded before the clock starts.
    __import__({"dp-accounting": "dp_accounting.pld", "prv-accountant": "prv_accountant"}[peer])
    call = TASKS[peer, task]
    if task == "box":  # hundreds of questions, some of any size: no repetitions, and limits
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, question.pop("limit"))
    seconds: list[float] = []
    found: Answer | None = None
    error: str | None = None

    def once() -> float:
        nonlocal found, error
        start, used = time.perf_counter(), time.process_time()
        try:
            found = call(**question)
        except Exception as failure:  # whatever a peer raises is its answer
            error = f"{type(failure).__name__}: {failure}"
        passed = time.perf_counter() - start
        # At a point of the box as ours: of the two clocks the later, since that of the processor may stand still.
        return max(passed, time.process_time() - used) if task == "box" else passed

    first = once()
    seconds = [once() for _ in range(0 if task == "box" else repetitions(first))] or [first]
    return {"answer": found, "error": error, "seconds": seconds}


def main() -> None:
    warnings.simplefilter("ignore")
    question = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        found = answer(question)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
