"""Guesses of secret bits: how many are right, and how many a privacy loss allows to be."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.audit.attacks.coins import chance_by_coins, chance_by_runs
from dalenius.audit.claims import Claim, as_loss
from dalenius.audit.clopper_pearson import interval
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.arrays import Bools, Ints
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NONE = -1
"""No guess."""


@dataclass(frozen=True, eq=False, repr=False)
class Guesses:
    """What an attack says about secret bits, beside the truth.

    Each bit must have been drawn by a fair coin of its own: a row's secret, or whether a person is in the data. Then a
    release allows only so much. If `loss` covers the change of one bit, and t is its total variation distance
    (`loss.total_variation()`):

    - *On average* at most (1 + t)/2 of the bits are guessed right. For one bit, whatever the others are, a guess is a
      test between two neighbours, and P(right) = (1 - type I + 1 - type II)/2 is at most (1 + t)/2; averages of
      such bits stay below.
    - *In one release* more may be right by chance. `p_value` bounds the probability of as many as were right, also
      when all bits share one release; the proof stands in `dalenius.audit.attacks.coins`.

    Parameters
    ----------
    guess
        0 or 1 for every bit, -1 where the attack says nothing (to as many bits as was decided beforehand). One row for
        each independent release, or one release alone.
    truth
        The bits, in the same shape; None where nobody knows.
    attack
        The attack's name.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.audit.attacks import Guesses
    >>> found = Guesses([1, 0, 1, 1] * 25, [1, 0, 1, 0] * 25, "by hand")
    >>> found.success, round(found.allowed(dp.PureDP(0.1)), 3), found.contradicts(dp.PureDP(0.1))
    (0.75, 0.525, True)
    """

    guess: Any
    truth: Any = None
    attack: str = "guesses"

    def __post_init__(self) -> None:
        guess = _bits("guess", self.guess, NONE)
        if self.truth is not None:
            truth = _bits("truth", self.truth, 0)
            if truth.shape != guess.shape:
                raise InvalidParameter.of(
                    "truth",
                    f"truth has the shape {truth.shape}, the guesses {guess.shape}; they must be alike.",
                )
            object.__setattr__(self, "truth", truth.astype(np.bool_))
        object.__setattr__(self, "guess", guess)

    @cached_property
    def correct(self) -> Bools:
        """Which of the guesses are right."""
        if self.truth is None:
            raise InvalidParameter("the truth is not known here; give `truth` to say how good an attack is.")
        right: Bools = self.guess == self.truth
        return right

    @property
    def runs(self) -> int:
        """The number of independent releases."""
        return int(self.guess.shape[0]) if self.guess.ndim == 2 else 1

    @property
    def coins(self) -> int:
        """The number of bits, in all releases."""
        return int(self.guess.size)

    @cached_property
    def made(self) -> int:
        """The number of bits about which something was said."""
        return int((self.guess != NONE).sum())

    @cached_property
    def right(self) -> int:
        """The number of right guesses."""
        return int(self.correct.sum())

    @property
    def success(self) -> float:
        """The share of right guesses."""
        return self.right / self.made if self.made else math.nan

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """An interval for the chance of a guess to be right (Clopper and Pearson 1934).

        It takes guesses for independent. Those of one release are not quite; `p_value` needs no such thing.

        Parameters
        ----------
        confidence
            The probability with which it holds.

        Returns
        -------
        tuple of float
            Its ends.
        """
        return interval(self.right, self.made, confidence)

    def allowed(self, claim: Claim) -> float:
        """The largest share that any attack can expect to get right: (1 + total variation)/2.

        It is about guesses of every bit; who says nothing where in doubt may be right more often.

        Parameters
        ----------
        claim
            A loss, a guarantee, a mechanism or an epsilon, for the change of one bit.

        Returns
        -------
        float
            In [1/2, 1], rounded up.
        """
        return min(1.0, (1.0 + as_loss(claim).total_variation()) / 2)

    def p_value(self, claim: Claim) -> float:
        """How probable as many right guesses are at most, if the claim is true.

        Parameters
        ----------
        claim
            A loss, a guarantee, a mechanism or an epsilon: what each release costs, for the change of one bit.

        Returns
        -------
        float
            An upper bound on the probability.
        """
        loss = as_loss(claim)
        wrong = (self.guess != NONE) & ~self.correct
        by_run = np.atleast_2d(self.correct).sum(axis=1), np.atleast_2d(wrong).sum(axis=1)
        return self._chance(loss, self.right, float((by_run[0] - by_run[1]).sum()))

    def _chance(self, loss: Loss, right: int, lead: float) -> float:
        """The same of any number of right guesses, `lead` more than wrong ones."""
        coins = self.coins // self.runs
        if coins == 1 and self.made == self.coins:
            return chance_by_runs(loss, self.runs, right / self.runs, whole=True)
        together = chance_by_coins(loss, self.coins, self.made, right)
        if self.runs == 1:
            return together
        apart = chance_by_runs(loss, self.runs, (1.0 + lead / self.coins) / 2)
        return min(1.0, 2 * min(together, apart))

    def limit(self, claim: Claim, failure: float = 0.05) -> float:
        """The share of right guesses that happens with probability `failure` at most, if the claim is true.

        Parameters
        ----------
        claim
            As for `p_value`.
        failure
            The probability.

        Returns
        -------
        float
            A share; above 1 where the claim allows everything to be right.
        """
        failure, loss = checks.open_probability("failure", failure), as_loss(claim)

        def rare(right: int) -> bool:
            return right > self.made or self._chance(loss, right, 2.0 * right - self.made) <= failure

        return bisect_left(range(self.made + 1), True, key=rare) / max(1, self.made)

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
        return self.p_value(claim) <= checks.open_probability("failure", failure)

    def __repr__(self) -> str:
        if self.truth is None:
            return f"Guesses({self.made} of {self.coins} bits by {self.attack})"
        return f"Guesses({self.right} of {self.made} right by {self.attack})"

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
        low, high = self.interval()
        lines = [
            f"{self.attack.capitalize()}: {self.right} of {self.made} guesses of a secret bit are right "
            f"({self.success:.1%}; 95 % interval {low:.1%} to {high:.1%}). A coin gets half of them."
        ]
        if claim is not None:
            verdict = "CONTRADICTED by this attack" if self.contradicts(claim) else "not contradicted"
            lines.append(
                f"The claim allows {self.allowed(claim):.1%} on average, to any attack; it is {verdict} (p = "
                f"{self.p_value(claim):.2g})."
            )
        return "\n".join(lines)

    def plot(self, path: str | None = None, claim: Claim | None = None) -> Figure:
        """Draw every bit, right or wrong, and the share of right ones beside what a claim allows.

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
        from dalenius.audit.attacks.plot import guesses

        return guesses(self, path, claim)


def _bits(name: str, value: object, least: int) -> Ints:
    try:
        bits = np.asarray(value)
        with np.errstate(invalid="ignore"):
            whole = bits.astype(np.int8)
        fits = (
            bits.ndim in (1, 2)
            and bits.size > 0
            and bool(np.all((whole == bits) & (whole >= least) & (whole <= 1)))
        )
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        raise InvalidParameter.of(
            name,
            f"{name} must hold bits, 0 or 1{'' if least == 0 else ' (-1: no guess)'}, in one or two axes.",
        )
    return whole  # type: ignore[return-value]
