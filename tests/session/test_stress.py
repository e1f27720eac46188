"""Eight processes, five hundred releases each, a budget for some of them, and kill -9 at any moment."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import dalenius as dp
from dalenius.session.ledger import Ledger
from dalenius.session.report import exported
from dalenius.session.verify import verify
from tests.session.stress import BUDGET, PRICES, RELEASES, WORKERS, question
from tests.session.test_failures import run


def test_race_for_a_budget(place: str, tmp_path: Path) -> None:
    Ledger.open(place).account("people", dp.ZCDP(BUDGET))
    done = run("stress", place, str(tmp_path), "20251", timeout=900)
    assert done.returncode == 0, done.stderr
    kills = int(done.stdout)
    assert kills >= 15

    # What the ledger says, added up here and not by the ledger.
    spent = Fraction(0)
    charges: Counter[str] = Counter()
    answers: dict[str, list[str]] = {}
    asked: dict[int, str] = {}
    with Ledger.open(place, create=False) as ledger:
        account = ledger.existing("people")
        for line in exported(ledger):
            entry = json.loads(line)
            body = json.loads(entry.get("body", "{}"))
            if entry.get("kind") == "charge":
                spent += Fraction(body["cost"]["amount"])
                charges[body["question"]] += 1
                asked[entry["seq"]] = body["question"]
            elif entry.get("kind") == "answer":
                answers.setdefault(asked.pop(body["charge"]), []).append(body["answer"])
        assert account.balance().total.amount == spent
        assert spent <= Fraction(BUDGET)
        # Some were refused, so not even the dearest would have fitted several times over.
        assert Fraction(BUDGET) - spent < Fraction(PRICES[-1])
    found = verify(place)
    assert found.ok, found.problems

    # What got out, by the workers' own files.
    touched: Counter[str] = Counter()
    delivered = refused = 0
    for worker in range(WORKERS):
        ended = {}
        for line in (tmp_path / f"{worker}.log").read_text().splitlines():
            word, number, *rest = line.split()
            text, _ = question(worker, int(number))
            if word == "touch":
                touched[text] += 1
            elif word == "deliver":
                assert rest[0] in answers[text], "an answer got out that is not on record"
                delivered += 1
            if word in ("deliver", "refuse"):
                ended[int(number)] = word
                refused += word == "refuse"
        assert sorted(ended) == list(range(RELEASES)), "every release ended with an answer or a refusal"
    for text, times in touched.items():
        assert times <= charges[text], "the data was looked at more often than it was paid for"
    assert delivered + refused == WORKERS * RELEASES
    assert delivered > 200
    assert refused > 1000
    assert sum(map(len, answers.values())) + len(asked) == sum(charges.values())
