"""`dalenius serve` as a process of its own: TLS, a first token, a log without secrets, a clean end."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import warnings
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.web.settings import Settings
from dalenius.web.store import Store, tokens

PATIENCE = 180.0
CERTIFICATE = (
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
    "-addext subjectAltName=DNS:localhost"
)


def test_a_console_behind_tls(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not installed")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", *CERTIFICATE.split(), "-keyout", key, "-out", cert], check=True, capture_output=True
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = [
        "--port",
        str(port),
        "--tls-cert",
        cert,
        "--tls-key",
        key,
        "--name",
        "localhost",
    ]
    command = [sys.executable, "-m", "dalenius.cli.main", "serve", "--folder", tmp_path / "console", *options]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [*map(str, command), "--first-steward", "Ada"], stdout=subprocess.PIPE, stderr=log, text=True
        )
    try:
        assert server.stdout is not None
        said = [server.stdout.readline() for _ in range(5)]
        token = said[2].strip()
        assert token.startswith("dalenius_"), said
        trusted = ssl.create_default_context(cafile=str(cert))
        with httpx.Client(base_url=f"https://localhost:{port}", verify=trusted) as client:
            until = time.monotonic() + PATIENCE
            while True:
                try:
                    assert client.get("/healthz").status_code == 200
                    break
                except httpx.TransportError:
                    assert time.monotonic() < until, (tmp_path / "log").read_text()
                    time.sleep(0.2)
            me = client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
            assert (me.json()["name"], me.json()["role"]) == ("Ada", "steward")
            assert "strict-transport-security" in me.headers
            assert "server" not in me.headers
            signed = client.post(
                "/sign-in", data={"token": token}, headers={"Origin": f"https://localhost:{port}"}
            )
            assert "__Host-dalenius=" in signed.headers["set-cookie"]
            assert client.get("/", headers={"Host": "evil.example"}).status_code == 421
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE)
    written = (tmp_path / "log").read_text()
    assert server.returncode in (0, -signal.SIGTERM)
    assert "request method=GET route=/api/v1/me status=200" in written
    assert token not in written
    assert "Traceback" not in written
    for line in written.splitlines():
        assert re.match(r"\d{4}-\d\d-\d\dT\S+ [A-Z]+ [\w.]+ ", line), line


def test_what_would_send_tokens_in_the_clear_is_refused(tmp_path: Path) -> None:
    run = CliRunner().invoke(app, ["serve", "--folder", str(tmp_path / "c"), "--host", "0.0.0.0"])
    assert run.exit_code == 2
    assert "in the clear" in run.output
    run = CliRunner().invoke(
        app, ["serve", "--folder", str(tmp_path / "c"), "--tls-cert", str(tmp_path / "none")]
    )
    assert run.exit_code == 2
    assert "--tls-key" in run.output
    run = CliRunner().invoke(
        app, ["serve", "--folder", str(tmp_path / "c"), "--sources", str(tmp_path / "none")]
    )
    assert run.exit_code == 2
    assert not (tmp_path / "c").exists()


def test_a_port_that_is_taken_is_no_damaged_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dalenius.web import serve

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        where = ["serve", "--folder", str(tmp_path / "c"), "--port", port]
        run = CliRunner().invoke(app, [*where, "--first-steward", "Ada"])
        assert (run.exit_code, "give another --port" in run.output) == (2, True)
        assert not (tmp_path / "c").exists()

    def started(*_: object, **__: object) -> None:
        raise SystemExit(3)  # what uvicorn does when it cannot start

    for left_behind in (serve.ENVIRONMENT, "PYTHONWARNINGS"):
        monkeypatch.setenv(left_behind, "")
    monkeypatch.setattr(serve.uvicorn, "run", started)
    with warnings.catch_warnings():
        run = CliRunner().invoke(app, where)
    assert (run.exit_code, "could not be started" in run.output) == (2, True)


def test_who_lost_their_token_is_given_one_for_a_day(tmp_path: Path) -> None:
    from dalenius.web import serve

    settings = Settings(tmp_path / "c")
    run = CliRunner().invoke(app, ["serve", "--folder", str(tmp_path / "c"), "--new-token", "Ada"])
    assert (run.exit_code, "there is no console at" in run.output) == (2, True)
    assert not (tmp_path / "c").exists()
    first = serve.first_steward(settings, "Ada")
    assert first is not None
    assert serve.first_steward(settings, "Eve") is None  # there is one already
    run = CliRunner().invoke(app, ["serve", "--folder", str(tmp_path / "c"), "--new-token", "Ada"])
    store = Store.open(settings.store_address)
    with store.reading() as connection:
        found = tokens.find(connection, run.output.strip())
    store.close()
    assert found is not None
    assert found[0].name == "Ada"
    run = CliRunner().invoke(app, ["serve", "--folder", str(tmp_path / "c"), "--new-token", "Eve"])
    assert (run.exit_code, "nobody called 'Eve'" in run.output) == (2, True)


def test_the_first_steward_without_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As compose does it beside the one that runs: nothing listens, and no worker takes jobs."""
    from dalenius.web import serve

    monkeypatch.setattr(serve, "serve", lambda *_: pytest.fail("a second server"))
    where = ["serve", "--folder", str(tmp_path / "c")]
    with socket.create_server(("127.0.0.1", 0)) as taken:  # the port is that of the console which runs
        port = ["--port", str(taken.getsockname()[1])]
        run = CliRunner().invoke(app, [*where, *port, "--first-steward", "Ada", "--and-stop"])
    assert run.exit_code == 0, run.output
    assert "Ada is the first steward" in run.output
    assert "The console is at" not in run.output
    run = CliRunner().invoke(app, [*where, "--first-steward", "Eve", "--and-stop"])
    assert (run.exit_code, "There is a steward already" in run.output) == (0, True)
    run = CliRunner().invoke(app, [*where, "--and-stop"])
    assert (run.exit_code, "--first-steward" in run.output) == (2, True)


def test_every_setting_can_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dalenius.web import serve

    seen: list[Settings] = []
    monkeypatch.setattr(serve, "serve", lambda settings, *_: seen.append(settings))
    given = {
        "lanes": ("slots", 3),
        "work-limit": ("work_seconds", 120.0),
        "lease": ("lease_seconds", 5.0),
        "slot": ("slot_seconds", 0.5),
        "token-days": ("token_days", 30),
        "calls-per-minute": ("calls_per_minute", 100),
        "failures-per-minute": ("failures_per_minute", 5),
        "source-host": ("source_hosts", ("db",)),
    }
    options = [
        f"--{word}={value[0] if isinstance(value, tuple) else value}" for word, (_, value) in given.items()
    ]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    where = ["serve", "--folder", str(tmp_path / "c"), "--port", str(port)]
    run = CliRunner().invoke(app, [*where, *options, "--metrics-local", "--spark"])
    assert run.exit_code == 0, run.output
    assert {name: getattr(seen[0], name) for name, _ in given.values()} == dict(given.values())
    assert seen[0].metrics_local
    assert seen[0].source_schemes == ("postgresql", "spark")
    for more, allowed in ((["--spark"], ("spark",)), (["--source-host=db"], ("postgresql",)), ([], ())):
        assert CliRunner().invoke(app, [*where, *more]).exit_code == 0
        assert seen[-1].source_schemes == allowed
    assert seen[-1] == Settings(tmp_path / "c")  # what the options say by default is what the settings do
