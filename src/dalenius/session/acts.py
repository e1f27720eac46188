"""What a steward does to an account: raise, renew, share, close. One entry each, in the chain like all others.

Each is one writing transaction: it looks at the account as it is under the lock, decides, and appends. A charge that
runs at the same time comes before it or after it, and is held against the budget of that moment. Killed in the middle,
the act was not done. What may be done at all was settled when the account was opened: `session.standing` has the rules,
their proof, and checks every act again whenever a ledger is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dalenius.calculus.guarantees import Guarantee, filter_of, from_record
from dalenius.core import checks
from dalenius.errors import InvalidParameter
from dalenius.session.entries import now, user_word
from dalenius.session.standing import Unfounded, plus, sums_of, written
from dalenius.session.terms import checked_name, level_of, planned, share_limit

if TYPE_CHECKING:
    from dalenius.session.account import Account, State

MOST = 10_000
"""Longest note, in characters."""


def raise_budget(account: Account, budget: Guarantee, note: str | None) -> Guarantee:
    """See `Account.raise_budget`."""

    def act(state: State, opening: Mapping[str, Any]) -> dict[str, Any]:
        _, ceiling, _ = planned(opening)
        own = account.own_filter(opening)
        new = level_of(budget, own, "the budget")
        level = sums_of(new.limit.written())
        if new.promise == from_record(state.standing.budget):
            raise InvalidParameter(f"the budget of {account.dataset!r} is {budget!r} already.")
        if not new.limit.fits(level_of(ceiling, own, "the ceiling").limit):
            raise InvalidParameter(
                f"the budget of {account.dataset!r} may be raised to {ceiling!r}, and {budget!r} is above that. What "
                "an account promises is fixed when it is opened; new data need an account of their own."
            )
        if any(grains > level.get(part, 0) for part, grains in state.standing.level.items()):
            raise InvalidParameter(
                f"the budget of {account.dataset!r} is {state.budget!r}; it is raised, and never lowered. To end it, "
                "close the account."
            )
        limit = state.standing.raised_to(level)
        return {
            "act": "raise",
            "budget": new.promise.record(),
            "level": new.limit.written(),
            "limit": _cost(account, limit),
        }

    return _done(account, act, note)


def renew(account: Account, note: str | None) -> Guarantee:
    """See `Account.renew`."""

    def act(state: State, opening: Mapping[str, Any]) -> dict[str, Any]:
        standing = state.standing
        if standing.renewed >= standing.renewals:
            often = f"be renewed {standing.renewals} time{'s' * (standing.renewals != 1)}"
            raise InvalidParameter(
                f"the account of {account.dataset!r} may {often if standing.renewals else 'not be renewed'}, as was "
                "settled when it was opened"
                f"{', and was' if standing.renewals else ''}. No theorem resets a person: what was released stays "
                "released. New data need an account of their own, and a person in both has both promises."
            )
        limit = plus(standing.limit, standing.level)
        return {"act": "renew", "renewal": standing.renewed + 1, "limit": _cost(account, limit)}

    return _done(account, act, note)


def grant_share(account: Account, analyst: str, share: Guarantee, note: str | None) -> Guarantee:
    """See `Account.grant_share`."""
    checked_name("the analyst", analyst)
    if not isinstance(share, Guarantee):
        raise InvalidParameter(
            f"the share is {checks.shown(share)}; it must be of the budget's kind, as {account.filter.promise!r}."
        )
    granted = share_limit(share, account.filter)

    def act(state: State, opening: Mapping[str, Any]) -> dict[str, Any]:
        left = state.balance.total.below(state.limit)
        if not granted.fits(left):
            raise InvalidParameter(
                f"{share!r} was to be granted to {analyst!r}, and {account.filter.left(left)!r} is left of the budget "
                f"of {account.dataset!r}."
            )
        told = {
            "promise": filter_of(share, account.filter.adjacency).promise.record(),
            "limit": granted.written(),
        }
        return {"act": "share", "analyst": analyst, "share": told}

    return _done(account, act, note, analyst)


def close_for_ever(account: Account, note: str | None) -> None:
    """See `Account.close_for_ever`."""
    _done(account, lambda state, opening: {"act": "close"}, note)


def _done(
    account: Account,
    act: Callable[[State, Mapping[str, Any]], dict[str, Any]],
    note: str | None,
    analyst: str | None = None,
) -> Guarantee:
    """Decide under the lock, and append; what is left then."""
    told = {} if note is None else {"note": _checked_note(note)}
    account.check_opened()
    with account.ledger.writing() as rows:
        state, opening = account._state(rows, everybody=True), rows.get(account.seq)
        assert opening is not None
        if state.standing.closed:
            raise InvalidParameter(f"the account of {account.dataset!r} was closed, for ever.")
        body = {**act(state, opening.content()), **told, "time": now(), **user_word()}
        try:  # by the rules that every reader holds it against
            state.standing.after(body, sums_of(state.balance.total.written()))
        except Unfounded as problem:
            raise InvalidParameter(f"this is not allowed: {problem}.") from None
        account.ledger.append(rows, "steward", account.seq, "", body)
    return account.filter.left(account.state().left(analyst or account.analyst))


def _cost(account: Account, sums: dict[str, int]) -> dict[str, str]:
    return {**account.filter.nothing.written(), **written(sums)}


def _checked_note(note: object) -> str:
    if not isinstance(note, str) or not note.strip() or len(note) > MOST:
        raise InvalidParameter(
            f"the note is {checks.shown(note)}; it must be a text of at most {MOST} characters."
        )
    try:
        note.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidParameter(
            "the note holds half a character (a lone surrogate); write it as UTF-8."
        ) from None
    return note
