"""`python -m tests.calculus.golden_losses FOLDER`: every kind of loss as text, and some of its numbers.

Made once for a version of the format and committed; a file that is there is never written over.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import dalenius as dp
from dalenius import losses
from dalenius.calculus.saved import VERSION

HERE = Path(__file__).parent / "golden"


def small() -> dict[str, losses.Loss]:
    """One of every kind, with a short text."""
    replace = dp.REPLACE_ONE
    return {
        "nothing": losses.Loss.zero(),
        "gaussian": losses.gaussian(1.3, 0.7),
        "gdp, repeated": losses.gdp(0.3) * 7,
        "laplace": losses.laplace(2.0, 1.5, adjacency=replace),
        "pure": losses.pure(0.3),
        "approx": losses.approx(0.5, 1e-6),
        "approx without epsilon": losses.approx(0.0, 1e-6),
        "randomized response": losses.randomized_response(1.0, 5),
        "geometric": losses.geometric(3.0, 4),
        "discrete gaussian": losses.discrete_gaussian(4.0, 3),
        "from a pair": losses.from_pair([0.9, 0.1, 0.0], [0.5, 0.4, 0.1]),
        "bounded range": losses.bounded_range(0.7),
        "zcdp": losses.zcdp(0.1),
        "poisson sampled": losses.poisson_sampled(losses.gaussian(1.0), 0.01) * 100,
        "poisson sampled laplace": losses.poisson_sampled(losses.laplace(2.0), 0.1) * 10,
        "poisson sampled atoms": losses.poisson_sampled(losses.pure(1.0), 0.1) * 3,
        "cp": losses.cp(losses.gaussian(1.0, adjacency=replace), 0.1),
        "without replacement": losses.sampled_without_replacement(
            losses.pure(1.0, adjacency=replace), 10, 100
        )
        * 5,
        "group": losses.group(losses.gdp(0.5), 2),
        "group of pure": losses.group(losses.pure(0.2), 3),
        "parallel": losses.parallel(losses.gdp(0.5), losses.gdp(1.0)),
        "replace one": losses.to_replace_one(losses.pure(1.0)),
        "objective perturbation": losses.objective_perturbation(5, 20, 1, 1),
        "objective perturbation, sharp": losses.objective_perturbation(5, 20, 1, 1, bound="sharp"),
        "objective perturbation, dimension": losses.objective_perturbation(5, 20, 1, 1, dimension=3),
        "approximate minima": losses.approximate_minima(5, 20, 1, 1, tolerance=0.01, output_sigma=0.15),
        "trade-off": losses.from_tradeoff(lambda a: max(0.0, 1 - math.e * a, (1 - a) / math.e)),
        "composed": losses.gaussian(2.0) * 3
        + losses.laplace(4.0)
        + losses.zcdp(0.01)
        + losses.approx(0.1, 1e-7),
    }


def batches() -> dict[str, losses.Loss]:
    """How batches are made: added to version 1 later, with a file of its own."""
    replace = dp.REPLACE_ONE
    return {
        "mixture of gaussians": losses.mixture_of_gaussians(1.3, [0.0, 1.0, 2.0], [0.9, 0.08, 0.02]) * 50,
        "poisson sampled group": losses.poisson_sampled_group(1.3, 0.05, 3) * 50,
        "poisson sampled, replaced": losses.poisson_sampled(losses.gaussian(1.3), 0.05, replace) * 50,
        "random allocation": losses.random_allocation(2.0, 30),
        "truncated poisson": losses.truncated_poisson(1.3, 0.05, 100, 20) * 50,
        "with replacement": losses.sampled_with_replacement(losses.gaussian(2.0, 1.0, replace), 5, 100),
    }


def large() -> dict[str, losses.Loss]:
    """Tabulated from above and from below: long texts."""
    return {
        "group, tabulated": losses.group(losses.bounded_range(0.5), 3),
        "parallel, tabulated": losses.parallel(losses.gdp(0.5), losses.laplace(2.0)),
        "sampled composition": losses.poisson_sampled(losses.gaussian(1.0) + losses.laplace(2.0), 0.1),
    }


def numbers(loss: losses.Loss) -> dict[str, Any]:
    """Bounds of every kind, exactly."""
    found = {
        "delta": loss.delta_bounds(0.5),
        "epsilon": loss.epsilon_bounds(1e-5),
        "other": (loss.renyi(3.0), loss.gdp(), loss.delta_at_infinity()),
    }
    return {name: [repr(float(x)) for x in values] for name, values in found.items()}


def main(folder: Path) -> None:
    for path, kept in (
        (folder / f"losses-v{VERSION}.json", small),
        (folder / f"batches-v{VERSION}.json", batches),
    ):
        if path.exists():
            print(f"{path} is there, and is never written over.")
            continue
        told = {name: {"text": loss.to_json(), "numbers": numbers(loss)} for name, loss in kept().items()}
        path.write_text(json.dumps(told, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
