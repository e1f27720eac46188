"""Write deploy/requirements.lock: every package of the console's image, at one version and with its hashes.

    python deploy/lock.py

The versions are those that pip finds for `dalenius[web,postgres,sqlite]` on the Python of the image; run it with that
Python. `pip install --require-hashes -r deploy/requirements.lock` then installs these files and no others.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXTRAS = "web,postgres,sqlite"
HEAD = f"# Made by deploy/lock.py for Python 3.11 on Linux; the extras {EXTRAS} of dalenius and what they need.\n"


def found() -> list[dict[str, str]]:
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
    text = subprocess.run(
        [*command, f"{HERE.parent}[{EXTRAS}]"], check=True, capture_output=True, text=True
    ).stdout
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
    (HERE / "requirements.lock").write_text(HEAD + "".join(lines(found())))
