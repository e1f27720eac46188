"""What an account fixes for ever: its dataset, its promise, its neighbours, its unit and its shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dalenius.calculus.guarantees import Filter, filter_of, from_record
from dalenius.calculus.guarantees.cost import Cost
from dalenius.core import checks
from dalenius.core.adjacency import adjacency_record, read_adjacency
from dalenius.errors import InvalidParameter, LedgerDamaged
from dalenius.tables.facts.unit import Unit


def account_terms(dataset: str, filter: Filter, unit: str | Unit) -> dict[str, Any]:
    """What an account fixes for ever, in the words of its entry."""
    return {
        "dataset": dataset,
        "promise": filter.promise.record(),
        "reserve": filter.written().get("reserve"),
        "adjacency": adjacency_record(filter.adjacency),
        "unit": unit.record() if isinstance(unit, Unit) else unit,
    }


def unit_text(unit: Any) -> str:
    """The unit of an account for people: its own words, or those of a session's unit."""
    return repr(Unit.from_record(unit)) if isinstance(unit, Mapping) else str(unit)


def read_terms(body: Mapping[str, Any]) -> tuple[Filter, Cost, dict[str, Fraction]]:
    """The filter, the limit and the shares in the body of an account."""
    try:
        promise = from_record(body["promise"])
        filter = filter_of(promise, read_adjacency(body["adjacency"]), body["reserve"] or 0)
        shares = {name: Fraction(part) for name, part in body["shares"].items()}
        return filter, filter.nothing.read(body["limit"]), shares
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        raise LedgerDamaged("an account of the ledger is not written as we write them.") from None


def check_terms(body: Mapping[str, Any], terms: Mapping[str, object]) -> None:
    """Refuse other terms than those that an account was opened with."""
    for word, asked in terms.items():
        if body[word] != asked:
            raise InvalidParameter(
                f"the account of {terms['dataset']!r} was opened with {_said(word, body[word])}, and now "
                f"{_said(word, asked)} was asked for. What an account promises is fixed when it is opened."
            )


def check_share(analyst: str | None, shares: Mapping[str, Fraction], dataset: str) -> None:
    """Refuse an analyst who has no share where others have."""
    if analyst is not None and shares and analyst not in shares:
        raise InvalidParameter(
            f"{analyst!r} has no share of the budget of {dataset!r}; those who have: {listed(shares)}."
        )


def listed(names: Iterable[str]) -> str:
    """Names for a message; what a terminal would obey is written out."""
    return ", ".join(name if name.isprintable() else ascii(name) for name in sorted(names))


def checked_shares(shares: Any) -> dict[str, Fraction] | None:
    """The part of the budget that each analyst may spend, as it was written: 0.1 is one tenth."""
    if shares is None:
        return None
    if not isinstance(shares, Mapping) or not shares:
        raise InvalidParameter("shares must name at least one analyst, such as {'ana': 0.5, 'ben': '1/4'}.")
    parts = {}
    for name, share in shares.items():
        checked_name("an analyst", name)
        try:
            part = Fraction(repr(share)) if isinstance(share, float) else Fraction(share)
        except (TypeError, ValueError, ZeroDivisionError):
            part = Fraction(0)
        if isinstance(share, bool) or not 0 < part <= 1:
            raise InvalidParameter(
                f"the share of {name!r} is {checks.shown(share)}; it must be above 0 and at most 1, as 0.25 or '1/3'."
            )
        parts[name] = part
    if sum(parts.values()) > 1:
        raise InvalidParameter(f"the shares add up to {sum(parts.values())}; together they may be at most 1.")
    return parts


def checked_name(what: str, text: object) -> str:
    """A name of a dataset, an analyst or the like."""
    if not isinstance(text, str) or not text.strip() or len(text) > 1000:
        raise InvalidParameter(f"{what} is {text!r}; it must be a name of at most 1000 characters.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidParameter(f"{what} is {text!r}, which is not valid text.") from None
    return text


def _said(word: str, value: object) -> str:
    if word == "reserve":
        return "no reserve" if value is None else f"a reserve of {value}"
    if isinstance(value, Mapping):
        numbers = ",".join(str(part) for name, part in value.items() if name != "kind")
        return f"{word} {value['kind']}:{numbers}" if numbers else f"{word} {value['kind']}"
    return f"{word} {value!r}"
