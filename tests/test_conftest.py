"""The rule about skips, tried on a small suite of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = """
import pytest

def test_passes():
    pass

def test_inside():
    pytest.importorskip("a_component_that_is_not_there")

@pytest.mark.skip(reason="by decorator")
def test_decorated():
    pass

@pytest.mark.allowed_skip(reason="only on another system")
def test_allowed():
    pytest.skip("only on another system")

@pytest.mark.xfail(reason="known", strict=True)
def test_known_failure():
    raise AssertionError
"""
WHOLE_FILE = """
import pytest

pytest.importorskip("a_component_that_is_not_there")
"""


def _pytest(folder: Path, source: str, ci: str, workers: str = "0") -> subprocess.CompletedProcess[str]:
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    allowed_skip(reason)\n")
    (folder / "test_small.py").write_text(source)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"CI": ci, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "pytest", "-n", workers, "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_skip_fails_in_ci(tmp_path: Path, workers: str) -> None:
    run = _pytest(tmp_path, SKIPS, ci="true", workers=workers)
    assert run.returncode == 1, run.stdout
    # A decorated test is skipped while it is set up, which pytest counts as an error.
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed, 1 error" in run.stdout
    assert "by decorator" in run.stdout


def test_a_skip_is_only_a_skip_elsewhere(tmp_path: Path) -> None:
    run = _pytest(tmp_path, SKIPS, ci="")
    assert run.returncode == 0, run.stdout
    assert "1 passed, 3 skipped, 1 xfailed" in run.stdout


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_skipped_file_fails_in_ci(tmp_path: Path, workers: str) -> None:
    run = _pytest(tmp_path, WHOLE_FILE, ci="true", workers=workers)
    assert run.returncode not in (0, 5), run.stdout
    assert "a_component_that_is_not_there" in run.stdout
