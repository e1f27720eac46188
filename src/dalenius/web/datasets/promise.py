"""What a data set promises to a person in it, in plain words: from its terms alone, and never from a row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.session.log import DIGITS, promise_text
from dalenius.session.statement import DELTA
from dalenius.session.terms import proposed
from dalenius.session.words import spaced
from dalenius.tables.facts.unit import Unit
from dalenius.web.datasets.registration import Registration, check_ready

KINDS = {
    "pure": "pure differential privacy",
    "approx": "approximate differential privacy",
    "zcdp": "zero-concentrated differential privacy",
    "gdp": "Gaussian differential privacy",
}


@dataclass(frozen=True)
class Promise:
    """The page, as sentences."""

    name: str
    title: str
    about: str
    who: str
    number: str
    kind: str
    formal: str
    """The promise as theorems say it."""
    guess: str
    """How well somebody can guess whether you are in the data: what most people want to know."""
    gains: tuple[str, ...]
    """What else an attacker gains."""
    sure: str
    """What stands above the table of beliefs."""
    beliefs: tuple[tuple[str, str], ...]
    """How sure an attacker was, and how sure they can become."""
    limits: tuple[str, ...]
    """What is not promised."""
    guarantee: Guarantee

    def record(self) -> dict[str, Any]:
        """As JSON says it."""
        return {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "who_is_protected": self.who,
            "promise": self.guarantee.record(),
            "promise_in_words": f"{self.number} ({self.kind})",
            "what_an_attacker_gains": [self.guess, *self.gains],
            "formally": self.formal,
            "how_sure": self.sure,
            "beliefs": [{"before": before, "after": after} for before, after in self.beliefs],
            "not_promised": list(self.limits),
        }


def promise_of(registration: Registration) -> Promise:
    """What is promised about everything that may ever be released, raises and renewals included."""
    terms = check_ready(registration)
    filter, _ = proposed(
        registration.name,
        terms.budget,
        adjacency=terms.adjacency,
        unit=terms.unit,
        reserve=terms.reserve or 0,
        ceiling=terms.ceiling,
        renewals=terms.renewals,
    )
    (formal, guess, *gains), sure, beliefs = _meaning(filter.promise, terms.adjacency)
    return Promise(
        registration.name,
        registration.title,
        registration.about,
        who_is_protected(terms.unit, terms.adjacency),
        promise_text(filter.promise, DIGITS),
        KINDS.get(filter.promise.tag, filter.promise.tag),
        formal,
        guess,
        tuple(gains),
        sure,
        beliefs,
        _limits(terms.unit, terms.adjacency),
        filter.promise,
    )


def who_is_protected(unit: Unit, adjacency: Adjacency) -> str:
    """Whose presence is hidden, and how much of them enters an answer."""
    change = (
        "with you and without you"
        if adjacency is ADD_REMOVE
        else "with you and with anybody else in your place"
    )
    if unit.column is None:
        who = "Every row of the data is protected as a person of its own"
    else:
        rows = {most for _, most in unit.tables} or {unit.max_rows}
        many = " or ".join(f"{spaced(most)} row{'s' * (most != 1)}" for most in sorted(rows))
        each = f", in each of {len(unit.tables)} tables" if unit.tables else ""
        who = (
            f"Everybody is protected whom the column {unit.column!r} tells apart, with all their rows together; at "
            f"most {many} of each{each} enter an answer"
        )
    return f"{who}. The promise compares the answers {change} in the data."


@lru_cache(maxsize=256)
def _meaning(
    promise: Guarantee, adjacency: Adjacency
) -> tuple[tuple[str, ...], str, tuple[tuple[str, str], ...]]:
    """What an attacker gains, and how sure they can become."""
    delta = promise.numbers.get("delta", 0.0 if promise.tag == "pure" else DELTA)
    lines = promise.loss(adjacency).explain(delta).splitlines()[1:]
    at = next(number for number, line in enumerate(lines) if line.startswith("How sure"))
    first = next(number for number, line in enumerate(lines) if "->" in line)
    beliefs = [line.split("->") for line in lines[first:] if "->" in line]
    return (
        tuple(lines[:at]),
        " ".join(line.strip() for line in lines[at:first]),
        tuple(
            (before.replace("before", "").strip(), after.replace("after", "").strip())
            for before, after in beliefs
        ),
    )


def _limits(unit: Unit, adjacency: Adjacency) -> tuple[str, ...]:
    found = [
        "What is true of many people can be learned, and is meant to be: if the answers show that a habit makes people "
        "ill, that says something about you, whether you are in the data or not.",
        "It is a promise about answers. Whoever keeps the data can read them; who that is, and how they are kept, is "
        "another question, and one to ask.",
        "A person who is in several data sets has the promise of each. They add up, and none of them knows the others.",
    ]
    if unit.column is None:
        found.append(
            "A person with several rows has this promise for each row, and a weaker one for all together."
        )
    if adjacency is not ADD_REMOVE:
        found.append("How many people are in the data is taken to be known.")
    return tuple(found)
