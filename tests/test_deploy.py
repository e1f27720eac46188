"""What is shipped to run the console: locked packages, an image, a compose file and a unit, each true to the code."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dalenius.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
LOCKED = dict(
    re.findall(
        r"^([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}$", (DEPLOY / "requirements.lock").read_text(), re.M
    )
)


def wanted(extras: set[str]) -> list[Requirement]:
    """What the project asks for with these extras, those within them included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found, done = [Requirement(text) for text in project["dependencies"]], set()
    while extras - done:
        extra = (extras - done).pop()
        done.add(extra)
        for text in project["optional-dependencies"][extra]:
            each = Requirement(text)
            if each.name == "dalenius":
                extras |= each.extras
            else:
                found.append(each)
    return found


def test_the_lock_holds_what_the_project_asks_for() -> None:
    for each in wanted({"web", "postgres", "sqlite"}):
        version = LOCKED.get(canonicalize_name(each.name))
        assert version is not None, f"{each.name} is not locked: python deploy/lock.py"
        assert each.specifier.contains(version, prereleases=True), each


def test_the_lock_holds_what_locked_packages_ask_for() -> None:
    for name in LOCKED:
        for text in requires(name) or ():
            each = Requirement(text)
            if each.marker is None or each.marker.evaluate({"extra": "", "python_version": "3.11"}):
                assert canonicalize_name(each.name) in LOCKED, (name, each.name)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the lock is for the Python of the image")
@pytest.mark.allowed_skip(reason="only the Python of the image is locked")
def test_what_is_locked_is_what_is_tested() -> None:
    """`make test` installs these versions; after `python deploy/lock.py` it does so anew."""
    assert {name: version(name) for name in LOCKED} == LOCKED


@pytest.mark.allowed_skip(reason="a system without systemd cannot say what systemd understands")
def test_the_unit_is_one_that_systemd_understands(tmp_path: Path) -> None:
    """But for the program itself, which is not installed here; a word that systemd does not know is noticed."""
    programs = shutil.which("systemd-analyze")
    if programs is None:
        pytest.skip("systemd-analyze is not there")
    text = (DEPLOY / "dalenius-console.service").read_text()
    for name, changed in (("good", text), ("bad", text.replace("ProtectHome=true", "ProtectHouse=true"))):
        unit = tmp_path / f"{name}.service"
        unit.write_text(changed.replace("/opt/dalenius/bin/dalenius", "/bin/true"))
        said = subprocess.run([programs, "verify", unit], capture_output=True, text=True, check=False)
        about_it = [line for line in said.stderr.splitlines() if str(unit) in line or unit.name in line]
        assert bool(about_it) == (name == "bad"), said.stderr


def options(words: list[str]) -> None:
    """Every option is one that `dalenius serve` knows."""
    command: Any = typer.main.get_command(app)
    known = {option for each in command.commands["serve"].params for option in each.opts}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


def test_the_image_starts_the_console() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.M):
        for source in sources.split():
            assert (ROOT / source).exists()
    (entry,) = re.findall(r"^ENTRYPOINT (.+)$", text, re.M)
    options(yaml.safe_load(entry))
    assert "USER dalenius" in text


def test_the_compose_file() -> None:
    content = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    console = content["services"]["console"]
    options(console["command"])
    assert (DEPLOY / console["build"]["context"] / console["build"]["dockerfile"]).exists()
    proxy = content["services"]["proxy"]["networks"]["inside"]["ipv4_address"]
    assert f"--behind-proxy={proxy}" in console["command"]
    assert "ports" not in console
    assert "ports" not in content["services"]["postgres"]
    assert content["networks"]["inside"]["internal"] is True
    used = {volume.partition(":")[0] for each in content["services"].values() for volume in each["volumes"]}
    assert {name for name in used if name.isalpha()} == set(content["volumes"])


@pytest.mark.parametrize("line", ["NoNewPrivileges=true", "ProtectSystem=strict", "UMask=0077"])
def test_the_unit(line: str) -> None:
    text = (DEPLOY / "dalenius-console.service").read_text()
    assert line in text.splitlines()
    (start,) = re.findall(r"^ExecStart=((?:.*\\\n)*.*)$", text, re.M)
    options(shlex.split(start.replace("\\\n", " ")))


def test_the_image_is_built_from_what_is_locked() -> None:
    """Packages, what builds dalenius, and the images below: each by its version."""
    built = (DEPLOY / "build.lock").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    locked = dict(re.findall(r"^([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}$", built, re.M))
    for text in project["build-system"]["requires"]:
        each = Requirement(text)
        assert each.specifier.contains(locked[each.name])
    recipe = (DEPLOY / "Dockerfile").read_text()
    assert "--no-build-isolation" in recipe  # else pip would fetch whatever hatchling there is
    images = re.findall(r"^ARG BASE=(\S+)$", recipe, re.M)
    images += re.findall(r"image: \$\{\w+:-(\S+)\}", (DEPLOY / "compose.yaml").read_text())
    assert len(images) == 3
    for image in images:
        assert re.search(r":\d+\.\d+(\.\d+)?-", image), image


def test_nothing_is_sent_to_the_build_that_the_image_does_not_need() -> None:
    """The context is the repository: data, environments and ledgers may lie in it."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] not in ("", "#")]
    assert rules[0] == "*"
    sent = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = set()
    for line in re.findall(r"^COPY (?!--from)(.+)$", (DEPLOY / "Dockerfile").read_text(), re.M):
        copied |= set(line.split()[:-1])
    assert sent == copied
