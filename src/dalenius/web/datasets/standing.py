"""How a data set's budget stands: what is promised, spent and left, to all and to each, and what to be alert to."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.guarantees.cost import Cost, currency_of
from dalenius.session.account import Account, State
from dalenius.session.burn_down import Step, burn_down
from dalenius.session.log import DIGITS, Line, cost_text, left_text, promise_text
from dalenius.web.store import alerts
from dalenius.web.store.datasets import Verified

WARNING = 80
"""Percent from which an alert is a warning."""
YEAR = datetime.timedelta(days=365)


@dataclass(frozen=True)
class Alert:
    """Something that a steward should know. level: "notice" or "warning"."""

    level: str
    text: str

    def record(self) -> dict[str, str]:
        """As JSON says it."""
        return {"level": self.level, "text": self.text}


@dataclass(frozen=True)
class Share:
    """What one analyst may spend, has spent and has left; allowed is None where there are no shares."""

    analyst: str
    allowed: str | None
    spent: str
    left: str
    percent: int
    """Of their share, or of what is open to all; rounded up."""
    passed: int | None
    """The highest threshold that is certainly passed."""


@dataclass(frozen=True)
class Standing:
    """One data set's account at one moment, in words and numbers."""

    promise: Guarantee
    """About all that may ever be charged."""
    budget: Guarantee
    """Of the round that is open."""
    ceiling: Guarantee
    renewed: int
    renewals: int
    spent: Guarantee
    left: Guarantee
    spent_text: str
    left_text: str
    percent: int
    """Of what is open by now; rounded up."""
    closed: bool
    shared: bool
    mine: bool
    """Whether spent and left are of one analyst's share, and not of all together."""
    shares: tuple[Share, ...]
    alerts: tuple[Alert, ...]

    def record(self) -> dict[str, Any]:
        """As JSON says it."""
        return {
            "promise": self.promise.record(),
            "budget": self.budget.record(),
            "ceiling": self.ceiling.record(),
            "renewed": self.renewed,
            "renewals": self.renewals,
            "spent": self.spent.record(),
            "spent_in_words": self.spent_text,
            "left": self.left.record(),
            "left_in_words": self.left_text,
            "percent_spent": self.percent,
            "closed": self.closed,
            "shares": [vars(share) for share in self.shares],
            "alerts": [alert.record() for alert in self.alerts],
        }


def standing_of(
    account: Account,
    ceiling: Guarantee | None,
    verified: Verified | None,
    thresholds: Sequence[int] = alerts.USUAL,
) -> Standing:
    """The account as it is now, to the one whose it is.

    ceiling: of the registration; verified: the last verification of the ledger; thresholds: percents of what is open,
    or of an analyst's share, that a steward is told of once they are spent.
    """
    state = account.state()
    total, limit, left = state.balance.total, state.limit, state.left(None)
    who = account.analyst if state.standing.shares else None
    if who is not None:  # to one of those who share it, how their share stands
        total, limit, left = state.balance.of(who), state.allowance(who), state.left(who)
    shares = tuple(_shares(account, state, thresholds))
    percent = _percent(total, limit)
    closed = state.standing.closed
    return Standing(
        account.promise,
        state.budget,
        ceiling or state.budget,
        state.standing.renewed,
        state.standing.renewals,
        account.filter.spent(total),
        account.filter.left(left),
        cost_text(total),
        "closed" if closed else left_text(left, account.filter.left(left)),
        percent,
        closed,
        bool(state.standing.shares),
        who is not None,
        shares,
        tuple(
            _alerts(_passed(total, limit, thresholds), closed, shares, bool(state.standing.shares), verified)
        ),
    )


def chart(account: Account, lines: Sequence[Line], now: datetime.datetime) -> str:
    """What was left, as a picture, since the account was opened, or of the last year."""
    found = [
        (moment, line)
        for line in lines
        if (moment := _moment(line.time)) is not None and line.left is not None
    ]
    if not found:
        return ""
    begins = max(found[0][0], now - YEAR)
    start = min(begins, now - datetime.timedelta(minutes=1))
    steps = []
    for moment, line in found:
        assert line.left is not None
        act = "" if line.act in ("asked", "shared", "opened") else line.act
        if moment < begins:
            steps = [Step(begins, float(line.left.amount))]
        else:
            steps.append(Step(moment, float(line.left.amount), act))
    unit = currency_of(account.filter.kind).unit
    last = max(now, found[-1][0])
    return "".join(
        burn_down(steps, start, last, last, unit, narrow=narrow, over="time") for narrow in (False, True)
    )


def terms_in_words(promise: Guarantee) -> str:
    """A promise as people read it: "rho 0.5"."""
    return promise_text(promise, DIGITS)


def _shares(account: Account, state: State, thresholds: Sequence[int]) -> list[Share]:
    found = []
    for name in sorted({*state.standing.shares, *state.balance.by}):
        spent = state.balance.of(name)
        if state.standing.shares:
            held = name in state.standing.shares
            allowed = state.allowance(name) if held else state.filter.nothing
            left = state.left(name) if held else state.filter.nothing
            told: str | None = left_text(allowed, account.filter.left(allowed))
        else:
            allowed, left, told = state.limit, state.left(None), None
        rest = left_text(left, account.filter.left(left))
        found.append(
            Share(
                name or "(no name)",
                told,
                cost_text(spent),
                rest,
                _percent(spent, allowed),
                _passed(spent, allowed, thresholds),
            )
        )
    return found


def _alerts(
    passed: int | None, closed: bool, shares: Sequence[Share], shared: bool, verified: Verified | None
) -> list[Alert]:
    found = []
    if verified is not None and not verified.sound:
        found.append(
            Alert(
                "warning",
                f"The ledger was verified on {verified.time[:10]} and is not sound. Nothing that it says can be relied "
                "on until this is cleared up.",
            )
        )
    if closed:
        return found
    if passed is not None:
        found.append(Alert(_level(passed), f"At least {passed} % of the open budget is spent."))
    if shared:
        for share in shares:
            if share.passed is not None:
                words = f"{share.analyst} has spent at least {share.passed} % of their share."
                found.append(Alert(_level(share.passed), words))
    return found


def _passed(cost: Cost, of: Cost, thresholds: Sequence[int]) -> int | None:
    use = cost.use_of(of)
    return max((each for each in (*thresholds, 100) if 100 * use >= each), default=None)


def _level(percent: int) -> str:
    return "warning" if percent >= WARNING else "notice"


def percent_spent(state: State) -> int:
    """Of what is open by now, by all together; rounded up."""
    return _percent(state.balance.total, state.limit)


def _percent(cost: Cost, of: Cost) -> int:
    use = cost.use_of(of)
    if not isinstance(use, Fraction):
        return 100
    return -(-use.numerator * 100 // use.denominator)


def _moment(text: str) -> datetime.datetime | None:
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
