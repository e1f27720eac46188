"""`python -m tests.session.forks WHERE HOW`: threads that ask, and threads that start processes that ask.

HOW is "pool": a thread pool whose threads start processes; "fork": threads that fork by hand, while others ask;
or "inside": a fork in the middle of a transaction. Everything that was asked is asked with one account, made before.
Prints how many were answered. If it hangs, it says where after a while and ends.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import dalenius as dp
from dalenius.errors import LedgerError
from dalenius.session.account import Account
from dalenius.session.ledger import Ledger
from tests.session.helpers import rho

TIME = 100
THREADS, TIMES = 5, 4


def ask(account: Account, name: str) -> None:
    reply = account.ask(name, rho("0.001"), lambda: f'"{name}"')
    assert reply.answer == f'"{name}"', "an answer of somebody else"
    assert account.recorded(name) == f'"{name}"'


def ask_and_leave(account: Account, name: str) -> None:
    ask(account, name)
    os._exit(0)  # a process begun in a thread of a pool would try to join that thread, which is itself


def process(account: Account, name: str) -> None:
    """Somebody else's results must not come here, nor ours go there."""
    child = multiprocessing.get_context("fork").Process(target=ask_and_leave, args=(account, f"child {name}"))
    child.start()
    ask(account, f"parent {name}")
    child.join(TIME)
    assert child.exitcode == 0, f"the child ended with {child.exitcode}"


def pool(account: Account) -> int:
    with ThreadPoolExecutor(THREADS) as threads:
        names = [str(n) for n in range(THREADS * TIMES)]
        list(threads.map(lambda name: process(account, name), names))
    return 2 * len(names)


def fork(account: Account) -> int:
    problems: list[str] = []
    start = threading.Barrier(2 * THREADS)

    def asks(name: str) -> None:
        start.wait()
        for number in range(2 * TIMES):
            ask(account, f"{name} {number}")

    def forks(name: str) -> None:
        start.wait()
        for number in range(TIMES):
            child = os.fork()
            if child == 0:
                try:
                    ask(account, f"{name} child {number}")
                    os._exit(0)
                except BaseException as problem:
                    os.write(2, f"{problem!r}\n".encode())
                    os._exit(1)
            if os.waitpid(child, 0)[1]:
                problems.append(name)

    threads = [
        threading.Thread(target=what, args=(f"{what.__name__} {n}",))
        for what in (asks, forks)
        for n in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems
    return THREADS * TIMES * 3


def inside(account: Account) -> int:
    """The transaction stays the parent's: the child neither ends it nor uses its connection."""
    with account.ledger.writing() as rows:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                account.ask("child", rho("0.001"), lambda: "[1]")
            except LedgerError:
                code = 0  # refused, which is as good as answered
            except BaseException as problem:
                os.write(2, f"{problem!r}\n".encode())
                os._exit(2)
            os._exit(code if account.ledger.store.label.startswith("/") else 0)
        assert os.waitpid(child, 0)[1] == 0
        assert rows.head().seq == 2
    ask(account, "parent")
    return 1


if __name__ == "__main__":
    faulthandler.dump_traceback_later(TIME, exit=True)
    where, how = sys.argv[1:]
    ledger = Ledger.open(where, patience=2.0 if how == "inside" else 60.0)
    made = {"pool": pool, "fork": fork, "inside": inside}[how](ledger.account("people", dp.ZCDP(1.0)))
    print(made)
    ledger.close()
