"""`python -m tests.local.wire.surveys FOLDER`: a small survey of every kind, and golden files of every message.

Made once for a version of the format and committed; a file that is there is never written over.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from dalenius import local
from dalenius.local.wire.aggregator import TALLY_VERSION, Aggregator
from dalenius.local.wire.client import Client
from dalenius.local.wire.parameters import VERSION, Parameters

HERE = Path(__file__).parent / "golden"

SURVEYS = {
    "binary": Parameters(local.RandomizedResponse(epsilon=1.0, k=2), "vote", ("no", "yes")),
    "five": Parameters(local.RandomizedResponse(epsilon=1.5, k=5), "five"),
    "optimized unary": Parameters(local.OptimizedUnaryEncoding(epsilon=1.0, k=5), "ou"),
    "symmetric unary": Parameters(local.SymmetricUnaryEncoding(epsilon=2.0, k=9), "su \u00e9<&>"),
    "hadamard": Parameters(local.HadamardResponse(epsilon=1.0, k=5), "h"),
    "hadamard blocks": Parameters(local.HadamardResponse(epsilon=3.0, k=10, blocks=4), "hb"),
    "hashing": Parameters(local.LocalHashing(epsilon=1.0, k=6), "lh"),
    "subset": Parameters(local.SubsetSelection(epsilon=1.0, k=6), "s"),
    "one bit": Parameters(local.Duchi(epsilon=1.0, bounds=(-1.0, 3.0)), "bit"),
    "piecewise": Parameters(local.Piecewise(epsilon=2.0, bounds=(0.1, 7.3)), "pw"),
    "hybrid": Parameters(local.Hybrid(epsilon=2.0, bounds=(0.1, 7.3)), "hy"),
    "laplace": Parameters(local.Laplace(epsilon=8.0, bounds=(-1.0, 3.0)), "lap"),
}


def values(survey: Parameters) -> list[object]:
    """A few values that people may have."""
    if survey.is_for_numbers:
        low, high = survey.mechanism.bounds
        return [low, low + (high - low) / 3, (low + high) / 2, high, high + 5.5, -1e300]
    return list(survey.categories or range(survey.mechanism.k))


def fixed_words(start: int) -> Iterator[int]:
    """64-bit words without end, the same every time (SplitMix64), some of them near the ends."""
    ends = (0, 1, 2**64 - 1, 2**63, 2**63 - 1, 2**32)
    for n in itertools.count(start):
        z = (n * 0x9E3779B97F4A7C15) % 2**64
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        yield ends[n % len(ends)] if n % 31 == 0 else z ^ (z >> 31)


def golden(survey: Parameters) -> dict[str, object]:
    """The messages of a survey, reports drawn from fixed words."""
    client, collector = Client(survey), Aggregator(survey)
    drawn = [client._draw(value, fixed_words(1000 * n)) for n, value in enumerate(values(survey) * 3)]
    one = client._message("dalenius local report", report=drawn[0])
    many = client._message("dalenius local reports", reports=drawn)
    collector.read([one, many, "junk"])
    return {
        "parameters": survey.to_json(),
        "report": one,
        "reports": many,
        "tally": collector.to_json(),
    }


def main(folder: Path) -> None:
    for name, survey in SURVEYS.items():
        path = folder / f"{name.replace(' ', '-')}-v{max(VERSION, TALLY_VERSION)}.json"
        if not path.exists():
            path.write_text(json.dumps(golden(survey), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
