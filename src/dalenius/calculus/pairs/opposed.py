"""Poisson sampling where one record is replaced by another: both may be sampled, and may point in opposite directions.

Let W be the law of the output without the record, R and R' the laws with the one and with the other, given who else is
in the sample; the sampled outputs have the laws (1-g) W + g R and (1-g) W + g R'.

Theorem. Let G(a) be the largest power of a test of level a of the loss's remove direction: R(S) <= G(W(S)) for every
set S of outcomes, and the same for R'. On [0, 1] let s be the slope of G, which falls, and let P and Q have the
densities (1-g) + g s(u) and (1-g) + g s(1-u), and an outcome of their own each with mass g G(0). Then (P, Q) dominates.

Proof. Let a = W(S). Then R(S) <= G(a), and R'(S) = 1 - R'(not S) >= 1 - G(1-a). So P(S) - e^epsilon Q(S) is at most
(1-g) (1 - e^epsilon) a + g G(a) - g e^epsilon (1 - G(1-a)), which is what [0, a] together with the outcome of P alone
reaches in (P, Q). Joint convexity removes who else is in the sample. QED

It is attained by noise that is added to a number, when its likelihood ratios grow with the shift (Laplace, geometric,
Gaussian): half lines are the best tests both ways. At g = 1 it is the chain of two neighbours (Dong, Roth and Su 2022).
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.mixture import log_mixture
from dalenius.calculus.pairs.pair import UNIT, Reals
from dalenius.calculus.pairs.rounding import round_up

CELLS = 1000
"""Of half of the range where the losses of Laplace noise differ."""
MOST = 2000
"""More atoms than this are first rounded, upwards."""
LEAST_MASS = 1e-290
"""Of Q: floats above it have all their digits."""
FURTHEST = 600.0
"""Of Laplace noise and a rare sample: beyond it, floats do not hold what is left."""
SURE = 1e-6


def opposed(base: Atoms, rate: float) -> Atoms:
    """A pair above, for losses that these atoms dominate. Both their directions have one law.

    Steps of s end where masses of Q add up to. For P they are moved to the right, for Q to the left, by more than
    roundings can have moved them: then s is too large in the one and too small in the other. Ends next to 1 are kept as
    distances from it. Losses that Q hardly has count as infinite, and what Q has of them as lost: a step of s that no
    float is narrow enough for would take its mass along.
    """
    mirrored = len(base.loss) <= MOST
    if not mirrored:
        base = round_up(base, float(base.loss.max() - base.loss.min()) / MOST, 0.0).atoms
    order = np.argsort(-base.loss, kind="stable")
    loss, mass = base.loss[order], base.mass[order]
    q = mass * np.exp(-loss)
    gone = q < LEAST_MASS
    infinite = base.infinite + float(mass[gone].sum()) * (1 + base.slack + UNIT * (4 + len(q)))
    lost = LEAST_MASS * float(np.count_nonzero(gone))
    loss, q = loss[~gone], q[~gone]
    off = base.slack + base.radius + UNIT * (16 + 4 * len(q) + 4 * float(np.abs(loss).max(initial=0.0)))
    missing, unsure = (0.0, 0.0) if math.isfinite(base.reach) else (1.0 - float(q.sum()), off)
    if mirrored and abs(missing - base.infinite) <= off:
        missing, unsure = base.infinite, base.infinite * off
    unsure += 2 * lost
    top = np.cumsum(q)
    rest = np.append(np.cumsum(q[::-1])[::-1], 0.0)[1:] + max(0.0, missing)
    ends_p = _ends(top * (1 + off), rest * (1 - off) - unsure)
    ends_q = _ends(top * (1 - off), rest * (1 + off) + unsure)
    # From the left, s falls for P and grows for Q; from the right it is the other way round.
    left = _pieces(ends_p[0], ends_q[1])
    right = _pieces(ends_p[1], ends_q[0])
    size = len(loss)
    of_p = np.concatenate((left[1], size - right[1]))
    of_q = np.concatenate((size - left[2], right[2]))
    level = np.append(log_mixture(loss, rate)[0], math.log1p(-rate))
    log_p, log_q = level[of_p], level[of_q]
    width = np.concatenate((left[0], right[0]))
    share = np.exp(np.minimum(math.log(rate) + loss - level[:-1], 0.0))
    rounding = float(np.max(64 * np.abs(level))) + 16 * float(np.max(share * np.abs(loss), initial=0.0))
    above = Atoms(
        log_p - log_q,
        width * np.exp(log_p),
        min(1.0, rate * infinite * (1 + 4 * UNIT)),
        slack=base.radius * (1 + 1e-6) + UNIT * (16 + 4 * float(np.abs(level).max())),
        blur=2 * base.radius + UNIT * rounding,
    )
    if float(above.mass.sum()) + above.infinite < 1 - SURE:
        raise ArithmeticError("a pair above lost some of its mass; this is a defect")
    return above


def opposed_laplace(shift: float, rate: float) -> tuple[Atoms, Atoms]:
    """Pairs below and above (1-g) Lap(0) + g Lap(e) against (1-g) Lap(0) + g Lap(-e), scale 1 and e = `shift`.

    For x from 0 to e the loss is log(1 + k (exp(2x) - 1)) with k = g exp(-e) / (1 - g + g exp(-e)), beyond it stays,
    and at -x it is the opposite, P and Q changing places. From below a cell is told as one; from above its mass goes
    to the losses at its two ends, so that P and Q keep theirs.
    """
    fall = math.exp(-shift)
    rest = (1 - rate) + rate * fall
    x = np.linspace(0.0, shift, CELLS + 1)
    ends = log_mixture(2 * x, rate * fall / rest)[0]
    inside = -np.expm1(x[:-1] - x[1:]) / 2
    # Differences of P and Q: what is common to both must not be subtracted.
    gap = rate * inside * fall * np.exp(x[1:]) * -np.expm1(-(x[1:] + x[:-1]))
    q = np.append(rest * inside * np.exp(-x[:-1]), rest * fall / 2)
    p = q + np.append(gap, -rate / 2 * math.expm1(-2 * shift))
    mean = np.append(np.clip(np.log1p(gap / q[:-1]), ends[:-1], ends[1:]), ends[-1])
    slack = UNIT * (64 + 8 * shift)
    blur = UNIT * (64 * float(ends[-1]) + 16 * shift * rate)
    below = Atoms(np.append(-mean[::-1], mean), np.append(q[::-1], p), slack=slack, blur=blur)
    right = np.clip(np.expm1(ends[:-1] - mean[:-1]) / np.expm1(ends[:-1] - ends[1:]), 0.0, 1.0)
    above = np.append(p[:-1] * (1 - right), 0.0)
    above[1:] += p[:-1] * right
    above[-1] += p[-1]
    whole = np.append(-ends[::-1], ends)
    return below, Atoms(whole, np.append((above * np.exp(-ends))[::-1], above), slack=slack, blur=blur)


def _ends(from_left: Reals, from_right: Reals) -> tuple[Reals, Reals]:
    """The ends in the left half, and the distances of the others from 1, increasing."""
    near = from_left <= 0.5
    return from_left[near], np.clip(from_right[~near], 0.0, 0.5)[::-1]


def _pieces(one: Reals, other: Reals) -> tuple[Reals, Reals, Reals]:
    """Widths of the pieces that two sets of ends cut [0, 1/2] into, and how many ends of each are before a piece."""
    ends = np.unique(np.concatenate(([0.0, 0.5], one, other)))
    start = ends[:-1]
    return (
        np.diff(ends),
        np.searchsorted(one, start, side="right"),
        np.searchsorted(other, start, side="right"),
    )
