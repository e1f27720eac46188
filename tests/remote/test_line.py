"""The line to a console: whom it trusts, what it repeats, and what it makes of answers that are not a console's."""

from __future__ import annotations

import json
import os
import ssl
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

import dalenius as dp
from dalenius.errors import BudgetExceeded, ConsoleError, InvalidParameter, LedgerError, QueryRefused
from dalenius.remote import line

HERE = Path(__file__).parent


class Answering(BaseHTTPRequestHandler):
    """A console with one data set."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps([{"name": "people"}]).encode())

    def log_message(self, *_: Any) -> None:
        """Nothing is said."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Served by https with a certificate that no authority of the system knows."""
    server = HTTPServer(("127.0.0.1", 0), Answering)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(HERE / "localhost.pem", HERE / "localhost.key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"localhost:{server.server_port}"
    server.shutdown()


def test_only_a_certificate_that_is_trusted_for_the_name_will_do(address: str) -> None:
    known = str(HERE / "localhost.pem")
    with dp.connect(f"https://{address}", token="dalenius_x", verify=known) as connection:
        assert connection.datasets == ("people",)
    with pytest.raises(ConsoleError, match="certificate"):
        _ = dp.connect(f"https://{address}", token="dalenius_x").datasets
    other_name = address.replace(
        "localhost", "127.0.0.1"
    )  # the same server, under a name that it cannot prove
    with pytest.raises(ConsoleError, match="certificate"):
        _ = dp.connect(f"https://{other_name}", token="dalenius_x", verify=known).datasets


class Echoing(BaseHTTPRequestHandler):
    """Keeps its connections, and answers with what it was asked for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        told = json.dumps(self.path).encode()
        time.sleep(0.002)
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *_: Any) -> None:
        """Nothing is said."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_processes_that_were_forked_do_not_read_each_others_answers() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echoing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    one = line.Line(f"http://127.0.0.1:{server.server_port}", "dalenius_x", patience=0)
    assert one.get("me") == "/api/v1/me"  # the connection stays

    def own(word: str) -> bool:
        return all(one.get(f"{word}{number}") == f"/api/v1/{word}{number}" for number in range(20))

    children = []
    for word in ("a", "b"):
        child = os.fork()
        if not child:
            right = False
            try:
                right = own(word)
            finally:
                os._exit(0 if right else 1)
        children.append(child)
    assert own("c")
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    server.shutdown()


def scripted(
    monkeypatch: pytest.MonkeyPatch, *answers: httpx.Response
) -> tuple[line.Line, list[httpx.Request]]:
    """A line on which these answers come back, one after the other; nobody waits."""
    seen: list[httpx.Request] = []
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return left.pop(0)

    monkeypatch.setattr(line.time, "sleep", lambda seconds: None)
    made = line.Line("https://console.example", "dalenius_x", transport=httpx.MockTransport(answer))
    return made, seen


def problem(status: int, kind: str, detail: str, **headers: str) -> httpx.Response:
    told = {
        "type": f"urn:dalenius:problem:{kind}",
        "title": "T",
        "status": status,
        "detail": detail,
        "fix": "F.",
    }
    return httpx.Response(status, json=told, headers=headers)


def test_what_may_be_sent_again_is_sent_again_under_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, soon = (
        problem(503, "ledger", "busy."),
        problem(409, "conflict", "read now.", **{"retry-after": "1"}),
    )
    sender, seen = scripted(monkeypatch, busy, soon, httpx.Response(201, json={"id": "1"}))
    assert sender.post("datasets", "a/b", "releases", content={"x": 1}, word="w") == {"id": "1"}
    assert [request.headers["idempotency-key"] for request in seen] == ["w"] * 3
    assert seen[0].url.raw_path == b"/api/v1/datasets/a%2Fb/releases"
    assert seen[0].headers["authorization"] == "Bearer dalenius_x"


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (problem(409, "budget-exceeded", "too much."), BudgetExceeded, r"^too much\.$"),
        (problem(422, "question-refused", "no such column."), QueryRefused, r"^no such column\.$"),
        (problem(422, "invalid", "wrong."), InvalidParameter, r"^wrong\.$"),
        (problem(401, "sign-in-needed", "no token."), ConsoleError, r"no token\. F\.$"),
        (problem(418, "something-new", "tea."), ConsoleError, "tea"),
        (
            httpx.Response(404, text="<html>not here</html>"),
            ConsoleError,
            "address is that of a dalenius console",
        ),
        (httpx.Response(200, text="<html>a page</html>"), ConsoleError, "did not send JSON"),
        (httpx.Response(307, headers={"location": "https://evil.example"}), ConsoleError, "307"),
    ],
)
def test_what_an_answer_means(
    answer: httpx.Response, kind: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, seen = scripted(monkeypatch, answer)
    with pytest.raises(kind, match=words):
        sender.get("datasets")
    assert len(seen) == 1  # and the token went nowhere else


def test_a_console_that_is_started_anew_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    sender, seen = scripted(monkeypatch, *(problem(503, "ledger", "gone.") for _ in range(1000)))
    monkeypatch.setattr(line.time, "sleep", slept.append)
    with pytest.raises(LedgerError, match="gone"):
        sender.get("datasets")
    assert 60 < sum(slept) <= line.PATIENCE  # as long as it promised, and never longer
    assert len(seen) == len(slept) + 1 < 30  # the pauses grow
    assert slept[0] < 1
    assert max(slept) <= line.LONGEST_PAUSE * 1.5
    quick = line.Line("https://console.example", "x", patience=0.0, transport=sender._client._transport)
    with pytest.raises(LedgerError):
        quick.get("datasets")
    assert len(seen) == len(slept) + 2
    with pytest.raises(InvalidParameter, match="patience is -1"):
        dp.connect("https://localhost", token="x", patience=-1)


@pytest.mark.parametrize(
    ("broken", "method", "fate"),
    [
        (httpx.ConnectError("no"), "post", "did not arrive: nothing was charged"),
        (httpx.ReadTimeout("no"), "post", "not known whether the question arrived"),
        (httpx.ReadTimeout("no"), "get", "Nothing was asked or charged"),
    ],
)
def test_it_is_told_what_became_of_a_question(
    broken: Exception, method: str, fate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise broken

    monkeypatch.setattr(line.time, "sleep", lambda seconds: None)
    sender = line.Line("https://console.example", "dalenius_x", transport=httpx.MockTransport(answer))
    more = {"content": {}, "word": "w"} if method == "post" else {}
    with pytest.raises(ConsoleError, match=fate):
        getattr(sender, method)("datasets", **more)


def test_what_arrived_once_may_have_been_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line broke after it was sent, and then nobody was there: it is not said that nothing arrived."""
    sent: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(1)
        raise httpx.ReadError("no") if len(sent) == 1 else httpx.ConnectError("no")

    monkeypatch.setattr(line.time, "sleep", lambda seconds: None)
    sender = line.Line("https://console.example", "dalenius_x", transport=httpx.MockTransport(answer))
    with pytest.raises(ConsoleError, match="not known whether the question arrived"):
        sender.post("datasets", content={}, word="w")
