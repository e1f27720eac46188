"""Scores that tell who is in the data: how telling they are, and how telling a privacy loss lets them be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.audit.attack import Attack
from dalenius.audit.attacks.guesses import NONE, Guesses
from dalenius.audit.claims import Claim, as_loss
from dalenius.audit.clopper_pearson import interval
from dalenius.audit.result import Audit
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)
"""False alarm rates at which thresholds are set."""
SHARES = (1.0, 0.25, 0.0625)
"""Of the candidates about whom something is said: all; those with the largest and the least scores."""


@dataclass(frozen=True, eq=False, repr=False)
class Membership:
    """Scores of candidates, larger for those who look like members, beside who is one.

    A release whose loss covers the presence of one person allows no test of it more power than 1 - f(a) at a false
    alarm rate of a, f its trade-off function: `allowed`. Two ways hold a claim to that:

    - candidates of one release, each put into the data by a fair coin of its own: `p_value`, by their `guesses`;
    - independent releases with one candidate each (`independent=True`), which shows more: thresholds are set on one
      half, and the errors measured on the other (`audit`).

    Parameters
    ----------
    scores
        A number for each candidate.
    inside
        Who is in the data; None where nobody knows.
    attack
        The attack's name.
    independent
        Whether every candidate was scored by a release of its own.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> rng = np.random.default_rng(0)
    >>> inside = rng.random(10_000) < 0.5
    >>> found = dp.audit.attacks.Membership(rng.normal(size=10_000) + 2 * inside, inside, independent=True)
    >>> 0.2 < found.power(0.01) < 0.5, found.contradicts(dp.GDP(1.0)), found.contradicts(dp.GDP(2.0), failure=1e-9)
    (True, True, False)
    """

    scores: Any
    inside: Any = None
    attack: str = "scores"
    independent: bool = False

    def __post_init__(self) -> None:
        try:
            scores = np.asarray(self.scores, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            scores = np.empty(0)
        if scores.ndim != 1 or scores.size == 0 or np.isnan(scores).any():
            raise InvalidParameter.of("scores", "scores must hold a number for each candidate.")
        object.__setattr__(self, "scores", scores)
        if self.inside is not None:
            inside = np.asarray(self.inside)
            if inside.shape != scores.shape or not np.isin(inside, (0, 1)).all():
                raise InvalidParameter.of("inside", "inside must say True or False for each candidate.")
            object.__setattr__(self, "inside", inside.astype(np.bool_))

    @cached_property
    def _parts(self) -> tuple[Reals, Reals]:
        """The scores of members and of the others."""
        if self.inside is None or not 0 < self.inside.sum() < self.inside.size:
            raise InvalidParameter(
                "to say how good an attack is, `inside` must name members and others, some of each."
            )
        return self.scores[self.inside], self.scores[~self.inside]

    def threshold(self, level: float) -> float:
        """The least threshold above which at most a share `level` of the others have their scores.

        Parameters
        ----------
        level
            The false alarm rate.

        Returns
        -------
        float
            The threshold.
        """
        level = checks.probability("level", level)
        others = np.sort(self._parts[1])[::-1]
        allowed = int(level * len(others))
        return float(others[allowed]) if allowed < len(others) else -np.inf

    def power(self, level: float) -> float:
        """The share of members found, at a false alarm rate of `level`.

        Parameters
        ----------
        level
            The false alarm rate.

        Returns
        -------
        float
            The true positive rate.
        """
        return float((self._parts[0] > self.threshold(level)).mean())

    def interval(self, level: float, confidence: float = 0.95) -> tuple[float, float]:
        """An interval for the power at the threshold of `level` (Clopper and Pearson 1934).

        Parameters
        ----------
        level
            The false alarm rate.
        confidence
            The probability with which it holds, for independent scores.

        Returns
        -------
        tuple of float
            Its ends.
        """
        members = self._parts[0]
        return interval(int((members > self.threshold(level)).sum()), len(members), confidence)

    def allowed(self, claim: Claim, level: float) -> float:
        """The largest power at a false alarm rate of `level` that the claim allows to any attack: 1 - f(level).

        Parameters
        ----------
        claim
            A loss, a guarantee, a mechanism or an epsilon, for the presence of one person.
        level
            The false alarm rate.

        Returns
        -------
        float
            In [level, 1], rounded up.
        """
        return as_loss(claim).power(level)

    @cached_property
    def curve(self) -> tuple[Reals, Reals]:
        """False alarm rates and the power at each: the receiver operating characteristic."""
        members, others = (np.sort(part)[::-1] for part in self._parts)
        cuts = np.unique(self.scores)[::-1]
        alarms = np.searchsorted(-others, -cuts, side="right") / len(others)
        hits = np.searchsorted(-members, -cuts, side="right") / len(members)
        return np.concatenate([[0.0], alarms]), np.concatenate([[0.0], hits])

    @property
    def advantage(self) -> float:
        """The largest difference between power and false alarm rate."""
        alarms, hits = self.curve
        return float(np.max(hits - alarms))

    def guesses(self, share: float = 1.0) -> Guesses:
        """The candidates with the largest scores are called members, those with the least are not: half of them each.

        Parameters
        ----------
        share
            The share of candidates about whom something is said.

        Returns
        -------
        Guesses
            For every candidate 1, 0 or nothing.
        """
        each = max(1, int(checks.probability("share", share) * len(self.scores) / 2))
        order = np.argsort(self.scores, kind="stable")
        guess = np.full(len(order), NONE, dtype=np.int8)
        guess[order[:each]], guess[order[len(order) - each :]] = 0, 1
        return Guesses(guess, self.inside, self.attack)

    def p_value(self, claim: Claim) -> float:
        """How probable as many right guesses are at most, if the claim is true and coins decided who is in.

        Parameters
        ----------
        claim
            A loss, a guarantee, a mechanism or an epsilon: what the release costs, for the presence of one person.

        Returns
        -------
        float
            An upper bound on the probability: the best of three, times three.
        """
        return min(1.0, len(SHARES) * min(self.guesses(share).p_value(claim) for share in SHARES))

    def audit(self, confidence: float = 0.95) -> Audit:
        """What independent trials prove about the loss, as `audit.lower_bound` does.

        Parameters
        ----------
        confidence
            The probability with which everything the audit says holds.

        Returns
        -------
        Audit
            Lower bounds, and the thresholds that were measured.

        Raises
        ------
        InvalidParameter
            If the candidates share a release, or are fewer than 4 of a kind.
        """
        if not self.independent:
            raise InvalidParameter(
                "an audit needs candidates with a release of their own each (independent=True); use `p_value` for "
                "candidates of one release."
            )
        members, others = self._parts
        trials = min(len(members), len(others)) // 2
        if trials < 2:
            raise InvalidParameter("an audit needs at least 4 members and 4 others.")
        first = Membership(
            np.concatenate([members[:trials], others[:trials]]), np.arange(2 * trials) < trials, self.attack
        )
        cuts = sorted({first.threshold(level) for level in LEVELS})
        failure = (1.0 - checks.confidence(confidence)) / len(cuts)
        fresh = members[trials : 2 * trials], others[trials : 2 * trials]
        attacks = []
        for cut in cuts:
            alarms, misses = int((fresh[1] > cut).sum()), int((fresh[0] <= cut).sum())
            attacks.append(Attack("first", f"score > {cut:.6g}", alarms, misses, trials, failure))
        return Audit(self.attack, tuple(attacks), 2 * trials, 0.0, confidence)

    def contradicts(self, claim: Claim, failure: float = 0.05) -> bool:
        """Whether the attack is too good for the claim to be true.

        Parameters
        ----------
        claim
            As for `p_value`.
        failure
            The probability with which a true claim may be contradicted.

        Returns
        -------
        bool
            Whether it is.
        """
        failure = checks.open_probability("failure", failure)
        if self.independent:
            return self.audit(1.0 - failure).contradicts(claim)
        return self.p_value(claim) <= failure

    def __repr__(self) -> str:
        if self.inside is None:
            return f"Membership({len(self.scores)} candidates scored by {self.attack})"
        return f"Membership({self.attack}: finds {self.power(0.01):.1%} of the members with 1 % false alarms)"

    def explain(self, claim: Claim | None = None) -> str:
        """The attack and what it shows, in plain sentences.

        Parameters
        ----------
        claim
            What the release is said to cost, if anything.

        Returns
        -------
        str
            Some lines of text.
        """
        lines = []
        for level in (0.01, 0.1):
            low, high = self.interval(level)
            allowed = "" if claim is None else f"; the claim allows {self.allowed(claim, level):.1%} at most"
            lines.append(
                f"{self.attack.capitalize()} that accuses {level:.0%} of the others finds {self.power(level):.1%} of "
                f"the members (95 % interval {low:.1%} to {high:.1%}){allowed}."
            )
        if claim is not None:
            verdict = "CONTRADICTED by this attack" if self.contradicts(claim) else "not contradicted"
            lines.append(f"The claim is {verdict}.")
        return "\n".join(lines)

    def plot(self, path: str | None = None, claim: Claim | None = None) -> Figure:
        """Draw the power at every false alarm rate, beside what a claim allows.

        Parameters
        ----------
        path
            Where the picture is saved; None to save nothing.
        claim
            What the release is said to cost.

        Returns
        -------
        Figure
            A figure of matplotlib.

        Raises
        ------
        ImportError
            If matplotlib is not installed (the `plot` extra).
        """
        from dalenius.audit.attacks.plot import membership

        return membership(self, path, claim)
