"""How much of an account may be spent at a moment: its gate, and each analyst's share, after what the steward did.

An account promises one total, which is fixed when it is opened and never moves. Inside it is a gate: what may be spent
by now. The steward may move the gate up, in steps that were settled at the opening, and never past the total:

raise   the budget of the current round becomes a larger one, up to the ceiling; the gate moves by the difference
renew   one more round begins; the gate moves by the budget of a round, as often as was settled
close   nothing more is charged, ever
share   an analyst may spend so much more, within the gate

Lemma. If each charge keeps the sum of all charges within the gate of its moment, and the gate is never above the total
T, the transcript keeps the promise of T: whoever moves the gate, whenever, and whatever they have seen before.

Proof. The lemma of `calculus.guarantees.filter` is about an analyst who chooses every release and its cost from all
earlier outcomes and is stopped before the costs exceed T. Let the steward and all analysts be that one analyst. A
release that the gate refuses is one that this analyst chose not to make; one that it admits has a sum of costs of at
most gate <= T. So the filter of T never had to stop anybody. Neither the gate nor a share is used in the proof: they
may depend on the answers, which a promise that moved along with them could not. QED

That the gate stays within T: with c the cost of the ceiling's budget and k renewals, T = (k + 1) c. The gate is the
sum, over the rounds so far, of the budget each round ended with; there are at most k + 1 rounds, and each budget is at
most c. T is a promise by rule 2 of the same file: k + 1 releases in D(c) are one in D((k + 1) c) (`Filter.times`).

All numbers here are whole grains, as the chain has them; `docs/record-format.md` has the words of the entries.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dalenius.calculus.guarantees.amounts import GRAINS, PLACES, decimal

Sums = dict[str, int]
"""The parts of a cost (amount, delta, shift), each in whole grains; one that is not named is nothing."""

_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,300})(?:\.([0-9]*[1-9]))?", re.ASCII)


def written(sums: Mapping[str, int]) -> dict[str, str]:
    """As an entry writes it."""
    return {part: decimal(Fraction(grains, GRAINS)) for part, grains in sums.items()}


def sums_of(content: Mapping[str, str]) -> Sums:
    """A part that is nothing is as one that is not named."""
    return {part: grains for part, text in content.items() if (grains := _grains(text))}


@lru_cache(maxsize=10_000)
def _grains(text: str) -> int:
    """A number as `amounts.decimal` writes it, in grains; another spelling is refused."""
    parts = _DECIMAL.fullmatch(text)
    if parts is None or len(parts[2] or "") > PLACES:
        raise ValueError("an amount must be an exact decimal number.")
    return int(parts[1] + (parts[2] or "").ljust(PLACES, "0"))


def plus(sums: Sums, more: Sums, times: int = 1) -> Sums:
    """Part by part."""
    return {part: sums.get(part, 0) + times * more.get(part, 0) for part in {**sums, **more}}


def fits(sums: Sums, limit: Sums) -> bool:
    """Whether no part is above the limit."""
    return all(grains <= limit.get(part, 0) for part, grains in sums.items())


class Unfounded(ValueError):
    """An act of the steward that the opening of the account does not allow."""


@dataclass(frozen=True)
class Share:
    """What one analyst may spend: a fraction of the gate, an amount in every round, and what was granted since."""

    part: Fraction = Fraction(0)
    each: Sums = field(default_factory=dict)
    granted: Sums = field(default_factory=dict)
    later: Sums | None = None
    """What was granted first to somebody who had no share when the account was opened; None for all others."""

    @classmethod
    def read(cls, content: Any) -> Share:
        """What an account's entry says of an analyst: "1/4", or a promise and its limit."""
        if isinstance(content, str):
            return cls(part=Fraction(content))
        return cls(each=sums_of(content["limit"]))

    def allowed(self, limit: Sums, rounds: int) -> Sums:
        """So much in all, at this gate and in this round."""
        fraction = {
            part: grains * self.part.numerator // self.part.denominator for part, grains in limit.items()
        }
        return plus(plus(fraction, self.each, rounds), self.granted)

    def at_first(self, limit: Sums) -> Sums:
        """The same in the first round, before anything was granted; of a share that came later, as it came."""
        return replace(self, granted=self.later or {}).allowed(limit, 1)


@dataclass(frozen=True)
class Standing:
    """An account at one moment of the chain."""

    limit: Sums
    """The gate: what may have been spent in all by now."""
    level: Sums
    """What one round comes to."""
    budget: Mapping[str, Any]
    """The same as a promise, in the words of an entry."""
    ceiling: Sums
    """The most that one round may come to."""
    renewals: int
    """How often it may be renewed in all."""
    renewed: int = 0
    closed: bool = False
    shares: Mapping[str, Share] = field(default_factory=dict)
    first: Sums = field(default_factory=dict)
    """The gate as the account was opened."""

    @classmethod
    def of(cls, opening: Mapping[str, Any]) -> Standing:
        """As an account is opened."""
        plan = opening.get("plan")
        limit = sums_of(opening["limit"])
        shares = {name: Share.read(content) for name, content in opening["shares"].items()}
        if plan is None:
            return cls(limit, limit, opening["promise"], limit, 0, shares=shares, first=limit)
        renewals, ceiling = plan["renewals"], sums_of(plan["most"])
        if type(renewals) is not int or renewals < 0 or not fits(limit, ceiling):
            raise ValueError("a plan must be written as we write them.")
        return cls(limit, limit, plan["budget"], ceiling, renewals, shares=shares, first=limit)

    @property
    def most(self) -> Sums:
        """The most that the gate can ever be."""
        return plus({}, self.ceiling, self.renewals + 1)

    @property
    def rounds(self) -> int:
        """How many rounds have begun."""
        return self.renewed + 1

    def allowance(self, analyst: str) -> Sums | None:
        """What an analyst may have spent in all by now; None where others have shares and this one has none."""
        if not self.shares:
            return self.limit
        share = self.shares.get(analyst)
        return None if share is None else share.allowed(self.limit, self.rounds)

    def first_allowance(self, analyst: str) -> Sums | None:
        """The same in the first round of the budget as it was opened, or as a share first came that came later: no
        raise, no renewal and no further grant moves it."""
        share = self.shares.get(analyst)
        if share is not None:
            return share.at_first(self.first)
        was_shared = any(each.later is None for each in self.shares.values())
        return None if was_shared else self.first

    def refusal(self, analyst: str, total: Sums, mine: Sums) -> str | None:
        """Why these sums may not have been spent; None if they may."""
        if self.closed:
            return "the account was closed before"
        allowed = self.allowance(analyst)
        if not fits(total, self.limit):
            return "the charges overspend the budget that was open then"
        if allowed is None or not fits(mine, allowed):
            return "the charges of its analyst overspend their share"
        return None

    # -- what the steward does -----------------------------------------------------------------------

    def after(self, act: Mapping[str, Any], spent: Sums) -> Standing:
        """After an act, as its entry says; Unfounded if it was not allowed, or says another gate than follows."""
        if self.closed:
            raise Unfounded("the account was closed before")
        if act["act"] == "raise":
            return self._raised(act)
        if act["act"] == "renew":
            return self._renewed(act)
        if act["act"] == "share":
            return self._shared(act, spent)
        if act["act"] == "close":
            return replace(self, closed=True)
        raise Unfounded(f"this dalenius knows no act {act['act']!r} of a steward: install a newer one")

    def raised_to(self, level: Sums) -> Sums:
        """The gate after a raise of the budget of a round."""
        return plus(self.limit, plus(level, self.level, -1))

    def _raised(self, act: Mapping[str, Any]) -> Standing:
        level = sums_of(act["level"])
        if not fits(self.level, level):
            raise Unfounded("a budget is raised, and never lowered")
        if not fits(level, self.ceiling):
            raise Unfounded(
                "the budget is raised above the ceiling that was settled when the account was opened"
            )
        return replace(self._moved(act, self.raised_to(level)), level=level, budget=act["budget"])

    def _renewed(self, act: Mapping[str, Any]) -> Standing:
        if self.renewed >= self.renewals or act["renewal"] != self.renewed + 1:
            raise Unfounded("the account is renewed more often than was settled when it was opened")
        return replace(self._moved(act, plus(self.limit, self.level)), renewed=self.renewed + 1)

    def _moved(self, act: Mapping[str, Any], limit: Sums) -> Standing:
        if plus({}, sums_of(act["limit"])) != {part: grains for part, grains in limit.items() if grains}:
            raise Unfounded("the budget it opens is not what follows from it")
        return replace(self, limit=limit)

    def _shared(self, act: Mapping[str, Any], spent: Sums) -> Standing:
        granted = sums_of(act["share"]["limit"])
        if not fits(plus(granted, spent), self.limit):
            raise Unfounded("more is granted than is left")
        name = act["analyst"]
        if not isinstance(name, str) or not name:
            raise ValueError("a share is somebody's.")
        share = self.shares.get(name, Share(later=granted))
        more = replace(share, granted=plus(share.granted, granted))
        return replace(self, shares={**self.shares, name: more})
