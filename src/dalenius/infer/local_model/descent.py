"""Interactive estimation in the local model: descent, then averaged Newton steps, from noisy messages alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dalenius.calculus import losses
from dalenius.calculus.guarantees import Guarantee
from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.local_model.law import accumulated_noise
from dalenius.infer.local_model.people import People
from dalenius.infer.promise import gaussian_mu
from dalenius.infer.result import Result
from dalenius.infer.scores.curvature import Curvature
from dalenius.infer.scores.score import Score
from dalenius.infer.scores.source import Standard

DESCENT, BEND, STEPS = 0.25, 0.2, 0.55
"""How mu^2 is divided."""
CLEAR = 6.0
"""How many times its usual noise the usual curvature must be, so that almost always it is clear."""
NEWTON = (0.12, 0.28, 0.6)
"""Of the steps: the squared mu of each."""


@dataclass(frozen=True, kw_only=True)
class LocalDescent:
    """An M-estimator from messages that are private on their own, in `rounds` + 4 rounds.

    In each of the first rounds every person sends their score at theta, with Gaussian noise of their own, and theta
    goes a step against the mean. Then they send their curvature there; then three more scores, each giving a Newton
    step, and the answer is the mean of the three proposals, weighted by what was spent on each. Noise is independent
    between people and rounds (shared noise, as in some printed versions, would not average out), and is exact, on a
    grid. The number of rounds is fixed beforehand. All messages of one person together keep the guarantee.

    The error of the answer is P times the mean message noise and the mean score, P the inverse of the released
    curvature: both are of the order n^-1/2, and the covariance of the messages themselves, over people, has both in it.
    What noise in P adds is in the interval as well. There is none where the noise that descent gathers
    (`accumulated_noise`), which is known beforehand, takes theta out of the range in which scores are straight lines,
    or where the curvature does not stand out of its noise.

    Parameters
    ----------
    score
        Of the loss, as a function of the linear predictor; bounded.
    standard
        How rows are standardised, and bounded: public.
    guarantee
        What all messages of one person keep, whatever that person's record is replaced by: GDP, ZCDP, RDP or ApproxDP.
    straight
        The distance in the linear predictor over which the slope of a score changes little: the knee of a Huber loss.
    rounds
        Of descent.
    step
        Of descent.
    usual
        The curvature to expect, as a share of the largest: whether there is an interval must follow from public facts.
    skew
        A bound on the third derivative of the loss, as a multiple of the second: 1 for the logistic loss. It takes
        Newton steps from noisy places past the root, by half the product of skew, reach and squared distance, which is
        allowed for. 0 for losses that are as steep on either side.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> from dalenius.infer.local_model.descent import LocalDescent
    >>> from dalenius.infer.scores import CurveScore, Standard
    >>> from dalenius.sums.curves import Huber
    >>> unit = Standard(np.zeros(0), np.ones(0), 1.0, 1.0)
    >>> d = LocalDescent(score=CurveScore(Huber(1.345)), standard=unit, guarantee=dp.GDP(1.0), straight=1.345)
    >>> round(d.loss.gdp(), 6)
    1.0
    """

    score: Score
    standard: Standard
    guarantee: Guarantee
    straight: float
    rounds: int = 4
    step: float = 1.0
    usual: float = 0.6
    skew: float = 0.0
    mu: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", gaussian_mu(self.guarantee, "the local model"))
        object.__setattr__(self, "rounds", checks.count("rounds", self.rounds, least=1))

    @cached_property
    def loss(self) -> Loss:
        """Of all messages of one person, when that person's record is replaced."""
        people = People(np.zeros((1, len(self.standard.centers))), np.zeros(1), self.standard, self.score)
        early = people.score_message(self._mus["descent"]).loss * self.rounds
        late = losses.total([people.score_message(mu).loss for mu in self._newton])
        return early + people.bend_message(self._mus["bend"]).loss + late

    @property
    def _mus(self) -> dict[str, float]:
        return {"descent": self.mu * math.sqrt(DESCENT / self.rounds), "bend": self.mu * math.sqrt(BEND)}

    @property
    def _newton(self) -> list[float]:
        return [self.mu * math.sqrt(STEPS * share) for share in NEWTON]

    def fit(self, features: Reals, responses: Reals, names: Sequence[str], method: str) -> Result:
        """Ask everybody, once.

        Parameters
        ----------
        features
            One row for each person.
        responses
            One number for each person.
        names
            Of the coefficients.
        method
            In a few words.

        Returns
        -------
        Result
            Coefficients in the units of the table, with intervals for the population's.

        Raises
        ------
        InvalidParameter
            If there are fewer than two people: their number is public.
        """
        n = len(responses)
        if n < 2:
            raise InvalidParameter(f"{n} people were given; there must be at least two.")
        people = People(features, responses, self.standard, self.score)
        theta = np.zeros(self.standard.size)
        for _ in range(self.rounds):
            theta = theta - self.step * people.scores(theta, self._mus["descent"]).mean(axis=0)
        bend = people.bend_message(self._mus["bend"])
        curvature = Curvature(people.bends(theta, self._mus["bend"]), bend.sigma / math.sqrt(2 * n))
        reason = self._reason(curvature, n)
        # Where the curvature is not to be trusted, three more steps of descent do less harm.
        inverse = self.step * np.eye(len(theta)) if reason else curvature.inverse
        proposals, messages, places = np.zeros(len(theta)), np.zeros((n, len(theta))), []
        spent = 0.0
        for share, mu in zip(NEWTON, self._newton, strict=True):
            sent = people.scores(theta, mu)
            proposals = proposals + share * (theta - inverse @ sent.mean(axis=0))
            messages += share * sent
            places.append(theta)
            spent += share
            theta = proposals / spent
        noise = people.score_message(self.mu * math.sqrt(STEPS)).sigma
        covariance = self._covariance(messages, noise, curvature, theta, places)
        back, shift = self.standard.original()
        notes = ("The privacy loss is of all messages of one person.",)
        if reason:
            return Result(
                names, back @ theta + shift, loss=self.loss, method=method, reason=reason, nobs=n, notes=notes
            )
        return Result(
            names,
            back @ theta + shift,
            loss=self.loss,
            method=method,
            covariance=back @ covariance @ back.T,
            df=n - 1,
            nobs=n,
            notes=notes,
        )

    def _covariance(
        self, messages: Reals, noise: float, curvature: Curvature, theta: Reals, places: list[Reals]
    ) -> Reals:
        """Sampling and noise from the messages' spread; and what noise in the curvature makes of the way to theta."""
        n, most = len(messages), (self.score.steepest * self.standard.reach) ** 2
        values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(messages, rowvar=False)))
        spread = (vectors * (np.clip(values - noise**2, 0.0, most) + noise**2)) @ vectors.T
        inverse = curvature.inverse
        first = inverse @ spread @ inverse / n
        away = sum(share * (place - theta) for share, place in zip(NEWTON, places, strict=True))
        size = float(np.sum(np.square(away)) + np.trace(first))
        moved = curvature.sd**2 * (size * np.eye(len(theta)) + np.outer(away, away))
        squares = sum(
            share * float(np.sum((place - theta) ** 2)) for share, place in zip(NEWTON, places, strict=True)
        )
        past = self.skew * self.standard.reach * squares / 2
        return np.asarray(first + inverse @ moved @ inverse + past**2 * np.eye(len(theta)))

    def _reason(self, curvature: Curvature, n: int) -> str:
        """Why there is no honest interval, from public numbers and the released curvature alone."""
        per_round = 2 * self.score.steepest * self.standard.reach / self._mus["descent"] / math.sqrt(n)
        usual = np.array([[self.usual * self.score.sharpest]])
        far = per_round * math.sqrt(accumulated_noise(usual, self.step, self.rounds)[0, 0])
        if far * self.standard.reach > self.straight / 2:
            return "the noise reaches beyond where scores are straight lines; ask more people, or for a larger mu."
        if CLEAR * curvature.floor > usual[0, 0] or not curvature.clear:
            return "the curvature does not stand out of its noise; ask more people, or for a larger mu."
        return ""
