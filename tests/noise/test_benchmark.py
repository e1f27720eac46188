"""The benchmark's own side: it runs without peers and says what it measured. Nothing about speed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import noise, noise_peers
from benchmarks.ask import Reply
from benchmarks.timing import Timing


def test_without_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise, "DRAWS", 20_000)
    said: list[str] = []
    noise.run(None, True, {"machine": "this one"}, tmp_path, said.append)
    text = (tmp_path / "NOISE.md").read_text(encoding="utf-8")
    assert "this one" in text
    assert "NumPy's float Laplace" in text
    data = json.loads((tmp_path / "noise.json").read_text(encoding="utf-8"))
    assert len(data["rows"]) == 2 * (len(noise.SCALES) + len(noise.LARGE)) + 1
    assert all(row["time"]["median"] > 0 for row in data["rows"])
    assert "targets met" in said[-1]


def test_a_peer_asked_for_fewer_draws_is_scaled_up() -> None:
    reply = Reply("opendp", 1.0, None, None, Timing(2.0, 1.0, 3.0, 3))
    found = noise.per(1000, 10, reply)
    assert found.time == Timing(200.0, 100.0, 300.0, 3)
    row = noise.NoiseRow("laplace", 10.0, Timing(2.0, 2.0, 2.0, 1), replies=[(10, found)])
    assert row.ratio("opendp") == 100.0
    assert "(from 10)" in noise.noise_table([row], 1000)


def test_a_peer_that_failed_has_no_time() -> None:
    reply = Reply("opendp", None, None, "TypeError: no", Timing(0.0, 0.0, 0.0, 1))
    found = noise.per(1000, 1000, reply)
    assert found.time is None
    row = noise.NoiseRow("laplace", 10.0, Timing(2.0, 2.0, 2.0, 1), replies=[(1000, found)])
    assert row.ratio("opendp") is None
    assert "no answer: TypeError: no" in noise.noise_table([row], 1000)


def test_every_peer_has_every_task() -> None:
    peers = {peer for peer, _ in noise_peers.TASKS}
    tasks = {task for _, task in noise_peers.TASKS}
    assert len(noise_peers.TASKS) == len(peers) * len(tasks)
    assert {"laplace", "gaussian"} <= tasks
