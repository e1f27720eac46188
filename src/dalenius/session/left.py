"""What is spent of a budget and what is left, in words, and in the kind of budget that a release is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dalenius.calculus.guarantees import Filter, Guarantee
from dalenius.calculus.guarantees.cost import PARTS, Cost, currency_of
from dalenius.calculus.guarantees.filter import AdditiveFilter
from dalenius.errors import BudgetExceeded
from dalenius.session.account import Account
from dalenius.session.price import how_often
from dalenius.session.words import spaced


@dataclass(frozen=True)
class Asked:
    """A question as it counts against a budget: what it costs, and what it was given."""

    cost: Cost
    budget: Guarantee

    @property
    def words(self) -> str:
        """What it was given, at the digits people read."""
        return repr(self.budget.shortened(up=True))


def left_in_words(account: Account, like: Asked | None, whose: str = "the last") -> str:
    """`ZCDP(rho=0.45), enough for 9 more questions like the last`; never more than is left.

    like: the question that others are to be like; whose: which one that is, nothing for any.
    """
    left = account.left()
    told = repr(account.filter.budget_left(left).shortened(up=False))
    if like is None:
        return told
    times = how_often(like.cost, left)
    what = f"like {whose} ({like.words})" if whose else f"at {like.words}"
    if not times:
        return f"{told}, not enough for another question {what}"
    more = "one more question" if times == 1 else f"{spaced(times)} more questions"
    return f"{told}, enough for {more} {what}"


def story(account: Account, like: Asked | None, whose: str = "the last") -> list[str]:
    """Lines: what is promised, what is spent, what is left, and why the two do not add up where they do not."""
    total, limit, left = account.balance().total, account.limit, account.left()
    spent = account.filter.spent(total).shortened(up=True)
    mine = f" (for {account.analyst!r})" if account.shares and account.analyst is not None else ""
    rest = f"{left_in_words(account, like, whose)}; {_shares(left, limit, up=False)}"
    lines = [
        f"Promised: {account.promise!r}",
        f"Spent:    {spent!r}, {_shares(total, limit, up=True)}"
        if total.parts != limit.nothing.parts
        else "Spent:    nothing",
        f"Left:     {rest}{mine}"
        if not account.is_closed
        else "Left:     nothing: the account was closed, for ever",
    ]
    if not isinstance(account.filter, AdditiveFilter) and total.amount:
        lines.append(why_not_added(account.filter))
    return lines


def why_not_added(pays: Filter) -> str:
    """Why what is spent and what is left do not add up to the promise."""
    leading, unit = pays.promise.leading, currency_of(pays.kind).unit
    return f"(What adds is {unit}, of which the percentages are; {leading} does not add, so spent and left are more.)"


def refused(
    account: Account, problem: BudgetExceeded, asked: Asked, instead: Callable[[], str | None] = lambda: None
) -> BudgetExceeded:
    """The same refusal in the words of the question: what it costs, what is left, and what could be asked instead."""
    if not account.may_spend:  # no question will do
        return problem
    left, limit = account.left(), account.limit
    most = account.filter.budget_left(left).shortened(up=False)
    whose = f" to {account.analyst!r}" if account.shares and account.analyst is not None else ""
    rest = _shares(left, limit, up=False, of="")
    could = instead() or (f"at most {most!r} can be given" if most.size else _nothing(account))
    return BudgetExceeded(
        f"{asked.words} costs {_shares(asked.cost, limit, up=True)}, and {rest} is left"
        f"{whose}: {could}. Nothing was charged.",
        asked=problem.asked,
        left=problem.left,
    )


def _nothing(account: Account) -> str:
    """What can be done where nothing is left."""
    standing = account.state().standing
    more = ", and its steward can open more of it: raise, or renew" if standing.limit != standing.most else ""
    return f"what was asked before stays free{more}"


def _shares(cost: Cost, limit: Cost, up: bool, of: str = " of the budget") -> str:
    """`10 % of the budget`, and how much of its other sides where they are used."""
    told = []
    for name, part, most in zip(PARTS, cost.parts, limit.parts, strict=True):
        if name == "amount":
            told.append(f"{_percent(part, most, up)}{of}")
        elif most and (part if up else part < most):
            what = "its delta for rare events" if name == "delta" else "what was set aside"
            told.append(f"{_percent(part, most, up)} of {what}")
    return " and ".join(told)


def _percent(part: Fraction, most: Fraction, up: bool) -> str:
    share = part / most * 10_000 if most else Fraction(0)
    whole = -(-share.numerator // share.denominator) if up else share.numerator // share.denominator
    if whole > 10_000:
        return f"{spaced(-(-whole // 100) if up else whole // 100)} %"
    return f"{whole // 100}{f'.{whole % 100:02d}'.rstrip('0') if whole % 100 else ''} %"
