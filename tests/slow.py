"""`python -m tests.slow REPORT`: which tests `make fast` leaves out, from how long each took.

REPORT is what `pytest --junitxml=REPORT` wrote on a quiet machine. The slowest test functions, all cases of each
together, go into `slow.txt` until what is left takes `BUDGET` seconds of two workers; `conftest` marks them. A test may
also be marked by hand: `@pytest.mark.slow`. The list begins with the module or class that took longest, where a worker
begins, too.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent
LISTED = HERE / "slow.txt"

BUDGET = 100.0
"""Seconds of work for the tests that stay: with collecting, two workers take less than 90 for them."""


def functions(report: Path) -> Counter[str]:
    """Seconds by test function, all its cases together: "tests.session.test_fit.TestX::test_y"."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        name = (case.get("name") or "").partition("[")[0]
        seconds[f"{case.get('classname')}::{name}"] += float(case.get("time") or 0)
    return seconds


def slowest(seconds: Counter[str], budget: float = BUDGET) -> list[str]:
    """The functions to leave out so that the rest fits, by what their module or class took together, longest first."""
    left, out = seconds.total(), []
    for name, time in seconds.most_common():
        if left <= budget:
            break
        out.append(name)
        left -= time
    together: Counter[str] = Counter()
    for name, time in seconds.items():
        together[name.partition("::")[0]] += time
    return sorted(out, key=lambda name: (-together[name.partition("::")[0]], name))


if __name__ == "__main__":
    names = slowest(functions(Path(sys.argv[1])))
    LISTED.write_text("\n".join(names) + "\n")
    print(f"{len(names)} test functions are slow: {LISTED.name}")
