"""The console of the demo: started, signed into, ended."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from pathlib import Path

import pytest

from dalenius.cli import demo as command
from dalenius.cli.people import write_people
from dalenius.web import demo


def test_started_and_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_people(tmp_path / "people-1000.parquet", 1000)
    tokens = []
    try:
        for _ in range(2):  # again: the same people, new tokens, and the first console is ended
            command._console(tmp_path, 1000, 18_200)
            said = capsys.readouterr().out
            (address,) = re.findall(r"Console: (\S+)", said)
            tokens += re.findall(rf"{demo.ANALYST_NAME} with the token (\S+)", said)
        for token in tokens:
            asked = urllib.request.Request(
                f"{address}/api/v1/datasets", headers={"Authorization": f"Bearer {token}"}
            )
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert "people" in json.dumps(json.load(answer))
    finally:
        assert demo.stop(tmp_path / "console")
    assert len(set(tokens)) == 2
    assert not demo.stop(tmp_path / "console")
    for _ in range(200):
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=5)
        except OSError:
            return
        time.sleep(0.1)
    pytest.fail("it still answers")
