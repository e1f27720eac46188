"""Put a question to a peer in its own environment."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.timing import Timing

WORKER = Path(__file__).with_name("peers.py")


@dataclass(frozen=True)
class Reply:
    """What a peer answered: an epsilon (or a sigma), perhaps with the bounds it states, or why not."""

    peer: str
    value: float | None
    bounds: tuple[float, float] | None
    error: str | None
    time: Timing | None

    def against(self, lower: float, upper: float) -> str:
        """How the answer compares with a certified bracket."""
        if self.value is None or self.value == float("inf"):
            return "no answer"
        if self.bounds is not None:
            if self.bounds[1] < lower:
                return "too small: its upper bound is below the true epsilon"
            return (
                "consistent"
                if self.bounds[0] <= upper
                else "too large: its lower bound is above the true epsilon"
            )
        return "too small: below the true epsilon" if self.value < lower else "consistent"


@dataclass(frozen=True)
class Peers:
    """The peers' environment."""

    python: Path
    timeout: float = 120.0
    worker: Path = WORKER

    def versions(self) -> dict[str, str]:
        return {str(k): str(v) for k, v in self._send({"peer": "", "task": "versions"}, 60.0).items()}

    def ask(self, peer: str, task: str, **question: Any) -> Reply:
        try:
            got = self._send({"peer": peer, "task": task, **question}, self.timeout)
        except subprocess.TimeoutExpired:
            return Reply(peer, None, None, f"stopped after {self.timeout:.0f} s", None)
        except subprocess.CalledProcessError as failure:
            lines = str(failure.stderr).strip().splitlines()
            return Reply(peer, None, None, lines[-1] if lines else f"exit {failure.returncode}", None)
        time, answer = Timing.of(got["seconds"]), got["answer"]
        if got["error"] is not None:
            return Reply(peer, None, None, got["error"], time)
        if isinstance(answer, list):
            return Reply(peer, answer[1], (answer[0], answer[2]), None, time)
        return Reply(peer, answer, None, None, time)

    def _send(self, question: dict[str, Any], timeout: float) -> dict[str, Any]:
        run = subprocess.run(
            [str(self.python), str(self.worker)],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            check=True,
            timeout=timeout,
        )
        found: dict[str, Any] = json.loads(run.stdout)
        return found
