"""`python -m tests.session.golden_locations FOLDER`: a golden ledger of locations after a private test.

As `golden_inference`: made once, committed, never written over, and read for ever.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dalenius as dp
from tests.session.golden_inference import numbers as numbers
from tests.session.golden_ledger import Case, make, told_by


def cases() -> dict[str, Case]:
    """By the names of their accounts."""
    huber = dp.infer.HuberLocation(dp.ApproxDP(8.0, 1e-3), bounds=(0, 125), c=60.0, size=400, share=0.9)
    apart = dp.infer.HuberLocation(dp.ApproxDP(8.0, 1e-3), c=0.01, size=400)
    return {
        "approx": Case(
            dp.ApproxDP(90.0, 0.1),
            {
                "location": lambda session: session.infer(huber, "pay"),
                "refused": lambda session: session.infer(apart, {"pay": (0, 125)}),
            },
        )
    }


if __name__ == "__main__":
    make(Path(sys.argv[1]), "locations", told_by(cases(), numbers))
