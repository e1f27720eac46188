"""Guarantees and neighbouring relations in the words of a ledger or a saved model."""

from __future__ import annotations

from collections.abc import Mapping

from dalenius.calculus.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.record import JSON, CannotBeWritten, exact, unknown
from dalenius.errors import LedgerError

GUARANTEES: dict[str, tuple[type[Guarantee], tuple[str, ...]]] = {
    "pure": (PureDP, ("epsilon",)),
    "approx": (ApproxDP, ("epsilon", "delta")),
    "zcdp": (ZCDP, ("rho",)),
    "gdp": (GDP, ("mu",)),
    "rdp": (RDP, ("order", "epsilon")),
}
"""The tag of each guarantee, and the words for its numbers."""

ADJACENCIES = {"add_remove": ADD_REMOVE, "replace_one": REPLACE_ONE}


def guarantee_record(guarantee: Guarantee) -> dict[str, JSON]:
    """{"kind": "approx", "epsilon": "1.0", "delta": "1e-06"}."""
    for tag, (kind, words) in GUARANTEES.items():
        if type(guarantee) is kind:
            return {"kind": tag, **{word: exact(getattr(guarantee, word)) for word in words}}
    raise CannotBeWritten(f"{guarantee!r} holds a function, which cannot be written down.")


def read_guarantee(record: Mapping[str, JSON]) -> Guarantee:
    """The guarantee that `guarantee_record` wrote."""
    found = GUARANTEES.get(record["kind"])
    if found is None:
        raise unknown("a guarantee", record["kind"], LedgerError)
    kind, words = found
    return kind(**{word: float(record[word]) for word in words})


def adjacency_record(adjacency: Adjacency) -> str:
    """One word for each relation."""
    return next(word for word, known in ADJACENCIES.items() if known is adjacency)


def read_adjacency(word: str) -> Adjacency:
    """The relation a word stands for."""
    if word not in ADJACENCIES:
        raise unknown("a neighbouring relation", word, LedgerError)
    return ADJACENCIES[word]
