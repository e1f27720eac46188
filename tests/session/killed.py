"""`python -m tests.session.killed WHERE STEP [raise]`: releases that are killed (SIGKILL) after n lines of our code.

One child per n asks one question of its own; when the n-th line of the session room is about to run it is
killed, on the spot. A child that goes unharmed counts the lines of a release; then n is 1, 1 + STEP, ... and
each of the last LAST ones, between the recording of an answer and its delivery. Each child is told of in a
line of JSON: whether it was killed, and what got out of it before. With `raise` each child is a steward who raises the
budget by one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from types import FrameType
from typing import Any

import psycopg  # noqa: F401  here once, and not in every child

import dalenius as dp
import dalenius.session
from dalenius.session.ledger import Ledger
from tests.session.helpers import rho

ROOM = os.path.dirname(dalenius.session.__file__)


STEWARD = sys.argv[3:] == ["raise"]
LAST = 12
NEVER = 10**9


def main(where: str, step: int) -> None:
    for lines in (NEVER, NEVER + 1):  # the first charge of an account is shorter: there is no sum to read
        status, told = child(where, lines)
        assert status == 0, told
    length = int(told.split()[-1])
    for lines in sorted({*range(1, length, step), *range(length - LAST, length + 1)}):
        status, told = child(where, lines)
        assert os.WIFSIGNALED(status) or status == 0, told
        print(json.dumps({"lines": lines, "killed": os.WIFSIGNALED(status), "told": told}), flush=True)


def child(where: str, lines: int) -> tuple[int, str]:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            release(where, lines, writing)
            os._exit(0)
        except BaseException as problem:
            os.write(writing, f"raised {problem!r}".encode())
            os._exit(1)
    os.close(writing)
    told = b""
    while part := os.read(reading, 65536):
        told += part
    os.close(reading)
    return os.waitpid(process, 0)[1], told.decode()


def release(where: str, lines: int, out: int) -> None:
    left = lines

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(ROOM):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return count

    def compute() -> str:
        os.write(out, b"touched ")
        return json.dumps(lines)

    budget = dp.ZCDP(1000.0)
    # Opening reads all entries, and there are more for each child: it is not counted.
    ledger = Ledger.open(where)
    if STEWARD:
        account = ledger.existing("people")
        more = dp.ZCDP(float(account.limit.amount) + 1)
        sys.settrace(count)
        answer = str(account.raise_budget(more))
    else:
        sys.settrace(count)
        account = ledger.account("people", budget)
        answer = account.ask(f"question {lines}", rho("0.001"), compute).answer
    sys.settrace(None)
    os.write(out, f"delivered {answer} after {lines - left}".encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
