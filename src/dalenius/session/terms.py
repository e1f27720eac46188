"""What an account fixes for ever: its dataset, its promise, its neighbours, its unit and its shares.

An account with a ceiling or renewals has a plan besides: the budget it starts with, what that may be raised to, and how
often it may be renewed. Its promise is then that of the whole plan (`session.standing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dalenius.calculus.guarantees import Filter, Guarantee, filter_of, from_record
from dalenius.calculus.guarantees.cost import Cost
from dalenius.calculus.guarantees.filter import Reserve
from dalenius.core import checks
from dalenius.core.adjacency import Adjacency, adjacency_record, read_adjacency
from dalenius.errors import InvalidParameter, LedgerDamaged
from dalenius.tables.facts.unit import Unit

Held = Fraction | Guarantee
"""A share of a budget: a part of it, or a promise of its own."""

MOST_RENEWALS = 1_000


def account_terms(dataset: str, filter: Filter, unit: str | Unit) -> dict[str, Any]:
    """What an account fixes for ever, in the words of its entry."""
    return {
        "dataset": dataset,
        "promise": filter.promise.record(),
        "reserve": filter.written().get("reserve"),
        "adjacency": adjacency_record(filter.adjacency),
        "unit": unit.record() if isinstance(unit, Unit) else unit,
    }


def proposed(
    dataset: str,
    budget: Guarantee,
    *,
    adjacency: Adjacency,
    unit: str | Unit,
    reserve: Reserve = 0,
    shares: Any = None,
    ceiling: Guarantee | None = None,
    renewals: int | None = None,
) -> tuple[Filter, dict[str, Any]]:
    """The filter of the whole promise, and what the entry of a new account says, but for its time and its place."""
    filter = filter_of(budget, adjacency, reserve)
    held = checked_shares(shares, filter) or {}
    told = {name: share_record(share, filter) for name, share in held.items()}
    highest, times = checked_ceiling(ceiling, filter), checked_renewals(renewals)
    body = {**account_terms(dataset, filter, unit), "limit": filter.limit.written(), "shares": told}
    if highest.promise == filter.promise and times == 0:
        return filter, body
    whole = highest.times(times + 1)
    plan = {
        "budget": filter.promise.record(),
        "ceiling": highest.promise.record(),
        "most": highest.limit.written(),
        "renewals": times,
        "reserve": body["reserve"],
    }
    return whole, {**body, **account_terms(dataset, whole, unit), "plan": plan}


def checked_ceiling(ceiling: object, filter: Filter) -> Filter:
    """The filter of the largest budget that an account may be raised to."""
    if ceiling is None:
        return filter
    highest = level_of(ceiling, filter, "the ceiling")
    if not filter.limit.fits(highest.limit):
        raise InvalidParameter(
            f"the ceiling is {ceiling!r}, which is below the budget, {filter.promise!r}; it must be at least that."
        )
    return highest


def level_of(budget: object, filter: Filter, what: str) -> Filter:
    """The filter of another budget of the same kind, with the same reserve."""
    try:
        found = filter_of(budget, filter.adjacency).like({"kind": filter.kind, **filter.written()})
    except InvalidParameter:
        found = None
    if found is None or found.kind != filter.kind:
        raise InvalidParameter(
            f"{what} is {checks.shown(budget)}; it must be of the kind of the account's budget, as {filter.promise!r}."
        )
    return found


def checked_renewals(renewals: object) -> int:
    """How often an account may be renewed."""
    times = 0 if renewals is None else checks.count("renewals", renewals, 0)
    if times > MOST_RENEWALS:
        raise InvalidParameter(f"renewals is {times}; it must be at most {MOST_RENEWALS}.")
    return times


def planned(body: Mapping[str, Any]) -> tuple[Guarantee, Guarantee, int]:
    """The budget an account was opened with, what it may be raised to, and how often it may be renewed."""
    plan = body.get("plan")
    if plan is None:
        promise = from_record(body["promise"])
        return promise, promise, 0
    return from_record(plan["budget"]), from_record(plan["ceiling"]), int(plan["renewals"])


def unit_text(unit: Any) -> str:
    """The unit of an account for people: its own words, or those of a session's unit."""
    return repr(Unit.from_record(unit)) if isinstance(unit, Mapping) else str(unit)


def read_terms(body: Mapping[str, Any]) -> tuple[Filter, Cost, dict[str, Held]]:
    """The filter of the whole promise, the limit at first, and the shares in the body of an account."""
    try:
        promise = from_record(body["promise"])
        filter = filter_of(promise, read_adjacency(body["adjacency"]), body["reserve"] or 0)
        shares = {name: read_share(part) for name, part in body["shares"].items()}
        return filter, filter.nothing.read(body["limit"]), shares
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        raise LedgerDamaged("an account of the ledger is not written as we write them.") from None


def read_share(content: Any) -> Held:
    """A share as an account's entry has it."""
    return Fraction(content) if isinstance(content, str) else from_record(content["promise"])


def share_record(share: Held, filter: Filter) -> Any:
    """A share in the words of an entry: a fraction, or a promise and what it comes to."""
    if isinstance(share, Fraction):
        return str(share)
    return {"promise": share.record(), "limit": share_limit(share, filter).written()}


def share_limit(share: Guarantee, filter: Filter) -> Cost:
    """What a share that is told as a promise comes to, of a budget with this filter; nothing is set aside in it."""
    found = filter_of(share, filter.adjacency)
    if found.kind != filter.kind:
        raise InvalidParameter(
            f"a share is {share!r}, and the budget is {filter.promise!r}; a share is of the same kind, or a fraction."
        )
    return found.limit


def check_terms(body: Mapping[str, Any], terms: Mapping[str, object]) -> None:
    """Refuse other terms than those that an account was opened with."""
    for word, asked in terms.items():
        if body[word] != asked:
            raise InvalidParameter(
                f"the account of {terms['dataset']!r} was opened with {_said(word, body[word])}, and now "
                f"{_said(word, asked)} was asked for. What an account promises is fixed when it is opened"
                f"{': leave the budget out to ask on its account.' if word == 'promise' else '.'}"
            )


def check_share(analyst: str | None, shares: Mapping[str, object], dataset: str) -> None:
    """Refuse an analyst who has no share where others have."""
    if analyst is not None and shares and analyst not in shares:
        raise InvalidParameter(
            f"{analyst!r} has no share of the budget of {dataset!r}; those who have: {listed(shares)}."
        )


def listed(names: Iterable[str]) -> str:
    """Names for a message; what a terminal would obey is written out."""
    return ", ".join(name if name.isprintable() else ascii(name) for name in sorted(names))


def checked_shares(shares: Any, filter: Filter) -> dict[str, Held] | None:
    """What each analyst may spend: a part of the budget, as it was written (0.1 is one tenth), or a promise.

    Fractions are parts of one whole, and together at most 1. Promises may together be more than there is: then those
    who ask first are answered, and each is held by their own share and by what is left of the whole.
    """
    if shares is None:
        return None
    if not isinstance(shares, Mapping) or not shares:
        raise InvalidParameter(
            "shares must name at least one analyst, such as {'ana': 0.5, 'ben': '1/4'} or {'ana': dp.ZCDP(0.2)}."
        )
    parts: dict[str, Held] = {}
    for name, share in shares.items():
        checked_name("an analyst", name)
        if isinstance(share, Guarantee):
            if not share_limit(share, filter).fits(filter.limit):
                raise InvalidParameter(
                    f"the share of {name!r} is {share!r}, which is more than the budget, {filter.promise!r}."
                )
            parts[name] = filter_of(share, filter.adjacency).promise
            continue
        part = read_part(share)
        if part is None:
            raise InvalidParameter(
                f"the share of {name!r} is {checks.shown(share)}; it must be above 0 and at most 1, as 0.25 or '1/3', "
                "or a promise of the budget's kind."
            )
        parts[name] = part
    whole = sum((part for part in parts.values() if isinstance(part, Fraction)), Fraction(0))
    if whole > 1:
        raise InvalidParameter(f"the shares add up to {whole}; together they may be at most 1.")
    return parts


def read_part(share: Any) -> Fraction | None:
    """A part of a whole as it was written, above 0 and at most 1; None for anything else.

    >>> read_part(0.1), read_part("1/3"), read_part("1e-999999999")
    (Fraction(1, 10), Fraction(1, 3), None)
    """
    if isinstance(share, bool):
        return None
    try:
        if isinstance(share, str) and "/" not in share and not 0 < float(share) <= 1:
            return (
                None  # a few signs can spell a number with a billion digits, which takes hours to write out
            )
        part = Fraction(repr(share)) if isinstance(share, float) else Fraction(share)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return part if 0 < part <= 1 else None


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
    if word == "unit":
        return f"unit {unit_text(value)}" if isinstance(value, Mapping) else f"unit {value!r}"
    if isinstance(value, Mapping):
        numbers = ",".join(str(part) for name, part in value.items() if name != "kind")
        return f"{word} {value['kind']}:{numbers}" if numbers else f"{word} {value['kind']}"
    return f"{word} {value!r}"
