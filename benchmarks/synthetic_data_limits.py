"""Where the error of our synthesizer comes from at a small budget: the same release with parts of it made exact.

    python -m benchmarks.synthetic_data_limits --data FOLDER        synthetic_data_limits.json, which the page shows

None of these but the last is private: they look at the data without noise to tell what a better part could gain.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import dalenius as dp
from benchmarks.synthetic_data_design import DELTA, Codes, adult, pairs
from benchmarks.synthetic_data_measures import shares
from dalenius.mechanisms import DiscreteGaussian, Exponential
from dalenius.queries.marginals import adaptive_marginals
from dalenius.queries.marginals.adaptive_marginals import AdaptiveMarginals
from dalenius.queries.marginals.measurement import Measurement
from dalenius.queries.marginals.plan import Plan
from dalenius.queries.rows import Rows

EPSILON, REPETITIONS = 0.1, 10
RESULTS = Path(__file__).with_name("synthetic_data_limits.json")
NEXT_TO_NONE = DiscreteGaussian(sensitivity=1.0, sigma=20.0)
"""What exact counts are said to have in noise, so that the fit comes to an end."""


@dataclass(frozen=True)
class Parts:
    """What is exact, and whether pairs are measured at all."""

    columns: bool = False
    relations: bool = False
    choice: bool = False
    pairs: bool = True


CASES = {
    "single columns alone, the whole budget": Parts(pairs=False),
    "nothing is noisy: exact columns, and exact relations of the pairs that are most wrong": Parts(
        True, True, True
    ),
    "exact columns; noisy pairs, chosen without noise": Parts(columns=True, choice=True),
    "noisy columns; exact relations, chosen without noise": Parts(relations=True, choice=True),
    "noisy columns and pairs, chosen without noise (but paid for)": Parts(choice=True),
    "the release: all is noisy": Parts(),
}


class PartlyExact(adaptive_marginals._Run):
    """A release with parts of it as they are."""

    parts = Parts()

    def measure(self, scope: Any, amount: Fraction, groups: Any = None) -> Measurement:
        found = super().measure(scope, amount, None if self.parts.relations else groups)
        if (self.parts.columns and len(scope) < 2) or (self.parts.relations and len(scope) == 2):
            found = self.measurements[-1] = replace(found, counts=self.exact(scope), noise=NEXT_TO_NONE)
        return found

    def fit(self, steps: int) -> None:
        if self.parts.columns or self.parts.relations:
            # Margins of pairs tell nothing, or what is not to be told; and what is exact takes longer to fit.
            self.targets = {m: targets[:1] for m, targets in self.targets.items()}
            steps *= 10
        super().fit(steps)


@contextmanager
def partly(parts: Parts) -> Iterator[None]:
    """Choices by the largest score, and no pairs, where that is wanted."""
    with mock.patch.object(PartlyExact, "parts", parts):
        if parts.choice:
            with mock.patch.object(Exponential, "release", lambda self, scores: int(np.argmax(scores))):
                yield
        elif not parts.pairs:

            def columns_alone(self: AdaptiveMarginals, rows: float) -> Plan:
                return Plan(self.domain.shape, tuple(self.candidates), self.prices, max(rows, 1.0), 0, 1.0)

            with mock.patch.object(AdaptiveMarginals, "plan", columns_alone):
                yield
        else:
            yield


def errors(parts: Parts, sizes: dict[str, int], train: Codes) -> tuple[float, float]:
    """Mean total variation of a release's model from the data, over single columns and over pairs."""
    domain = dp.queries.Domain(sizes)
    made = AdaptiveMarginals(dp.queries.Workload.marginals(domain, 2), dp.ApproxDP(EPSILON, DELTA))
    with partly(parts):
        model = PartlyExact(made, Rows.of(domain, train)).release().fitted.model
    real = shares(train, list(sizes.values()))
    single = [(v,) for v in range(len(sizes))]
    one, two = (
        float(np.mean([np.abs(model.marginal(scope) - real(scope)).sum() / 2 for scope in scopes]))
        for scopes in (single, pairs(len(sizes)))
    )
    return one, two


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic_data_limits", description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    sizes, train, _ = adult(options.data)
    found = {}
    for name, parts in CASES.items():
        found[name] = [errors(parts, sizes, train) for _ in range(REPETITIONS)]
        print(name, np.mean(found[name], axis=0).round(4), flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
