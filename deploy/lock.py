"""Write deploy/requirements.lock and deploy/build.lock: every package of the console's image, and every one that
builds dalenius for it, at one version and with its hash.

    python deploy/lock.py [build.lock]

The versions are those that pip finds for `dalenius[web,postgres,sqlite]`, and for hatchling, on the Python of the
image; run it with that Python. `pip install --require-hashes -r deploy/requirements.lock` then installs these files and
no others.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXTRAS = "web,postgres,sqlite"
LOCKS = {
    "requirements.lock": (f"{HERE.parent}[{EXTRAS}]", f"the extras {EXTRAS} of dalenius and what they need"),
    "build.lock": ("hatchling>=1.27", "what builds dalenius"),
}
"""For each file what pip is asked for, and that in words."""


def found(wanted: str) -> list[dict[str, str]]:
    """What pip would install into an empty environment."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--dry-run",
        "--ignore-installed",
        "--report",
        "-",
    ]
    text = subprocess.run([*command, wanted], check=True, capture_output=True, text=True).stdout
    return [each for each in json.loads(text)["install"] if not each["is_direct"]]


def lines(packages: list[dict[str, str]]) -> list[str]:
    """A line for each package, in the order of their names."""
    made = []
    for each in packages:
        name, version = each["metadata"]["name"].lower().replace("_", "-"), each["metadata"]["version"]
        digest = each["download_info"]["archive_info"]["hashes"]["sha256"]
        made.append(f"{name}=={version} --hash=sha256:{digest}\n")
    return sorted(made)


if __name__ == "__main__":
    for name in sys.argv[1:] or LOCKS:
        wanted, words = LOCKS[name]
        head = f"# Made by deploy/lock.py for Python 3.11 on Linux; {words}.\n"
        (HERE / name).write_text(head + "".join(lines(found(wanted))))
