"""`python -m tests.calculus.engines.box.make_without_replacement`: as `make_truths`, two steps of one family alone.

Gaussian noise after sampling without replacement has an atom, a kink beside it and far jumps on both sides: short runs
show all three, and the draw of `make_truths` holds few of them. Two quadratures must agree to 30 digits, as there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import box_points

from tests.calculus.engines.box.make_truths import shortened, truth

SEED, COUNT = 41, 40
FAMILY = "without replacement, Gaussian"
KEPT = Path(__file__).with_name("without_replacement.json")


def main() -> None:
    found: list[dict[str, Any]] = []
    for point in box_points.points(SEED):
        if len(found) == COUNT:
            break
        if point.family == FAMILY:
            found += truth(shortened(point, 2))
            KEPT.write_text("[\n" + ",\n".join(json.dumps(x) for x in found) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
