"""The best of a random number of trials each of which may fail: what the chance of failure becomes.

A trial is delta-approximately as private as a loss F if its laws on neighbours are Q = (1 - delta) Q_0 + delta Q_1 and
Q' = (1 - delta) Q'_0 + delta Q'_1, where F dominates Q_0 and Q'_0 in both directions. Every loss with an outcome of
infinite loss and probability delta is of this kind: the trial is post-processing of its dominating pair (Blackwell),
and so are the parts.

Theorem. Let K trials be made and the best be released, K drawn from one of the laws of Papernot and Steinke 2022. If
each trial is delta-approximately F, then the release is delta_K-approximately as private as the best of K trials with
the loss F, by the bounds of that paper, and

    delta_K = 1 - E[(1 - delta)^K] <= delta E[K],   in both directions at once.

Proof. Toss a coin for each trial: with probability 1 - delta it is drawn from Q_0, else from Q_1. Given K = k no trial
fails with probability (1 - delta)^k, on either data set alike, so that the release is a mixture with the weights
1 - delta_K and delta_K on both. Given that none fails, K has the law P(K = k) (1 - delta)^k, scaled to sum to 1, and
the trials are independent draws from Q_0 (or Q'_0): the best of so many trials with the loss F. A Poisson law of mean m
becomes that of mean m (1 - delta); a negative binomial law (geometric and logarithmic ones are among them) with
parameter g one with the same shape and 1 - (1 - g)(1 - delta) >= g. The bounds of Papernot and Steinke (their Theorems
2 and 6) do not fall with the mean or with 1/g, so that those of K hold. Last, (1 - delta)^k >= 1 - k delta (Bernoulli).

Liu and Talwar 2019, Theorem 3.4, have sqrt(2 delta) T + delta_2 for trials that are (epsilon, delta)-DP, after which
delta must be some 1e-21 for a total of 1e-6; here 1e-6 / E[K] will do. For pure F and geometric K, 3 epsilon.
"""

from __future__ import annotations

from dalenius.adaptive.selection.trial_counts import RandomTries
from dalenius.calculus import losses
from dalenius.calculus.guarantees import RDP
from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.pair import Pair, Terms
from dalenius.errors import CannotMeet, UnsupportedComposition


def best_of_approximate(tries: RandomTries, *trials: Loss) -> Loss:
    """The loss of the best of K trials that may fail, by Renyi divergences and the chance of failure.

    Parameters
    ----------
    tries
        The law of K; one that is drawn exactly, such as `GeometricTries`.
    *trials
        The losses of the candidates' trials; one, if they are all the same.

    Returns
    -------
    Loss
        A loss without failure, and delta E[K] of failure.

    Raises
    ------
    CannotMeet
        If the failures add up to 1 or more, or K is drawn from a table.
    UnsupportedComposition
        If a loss has no part that is free of failure.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.adaptive.selection.approximate import best_of_approximate
    >>> loss = best_of_approximate(dp.learn.GeometricTries(10.0), dp.losses.approx(0.5, 1e-8))
    >>> loss.delta(1.5) <= 1.0001e-7
    True
    """
    parts = [without_failure(loss) for loss in trials]
    failure = tries.mean * max(delta for _, delta in parts) * (1 + 1e-12)
    if not failure < 1:
        raise CannotMeet(
            f"{tries.mean:g} trials on average may fail with certainty; make a failure less likely."
        )
    finite = tries.loss(*(loss for loss, _ in parts), promise=RDP(2.0, 1.0))
    return finite + losses.approx(0.0, failure, finite.adjacency)


def without_failure(loss: Loss) -> tuple[Loss, float]:
    """A loss without outcomes of infinite loss, and their probability: the loss is the two together."""
    remove, delta = _split(loss.terms_remove)
    add, other = _split(loss.terms_add)
    # Where the directions differ the larger is taken for both: a failure more is a loss more.
    return Loss(remove, add, loss.adjacency, f"without_failure({loss.expression})"), max(delta, other)


def _split(terms: Terms) -> tuple[Terms, float]:
    finite: list[tuple[Pair, int]] = []
    delta = 0.0
    for pair, times in terms:
        known = pair.above if isinstance(pair, Bracket) else pair
        if known.infinite == 0.0:
            finite.append((pair, times))
        elif isinstance(known, Atoms):
            delta += times * known.infinite
            rest = Atoms(
                known.loss,
                known.mass / (1 - known.infinite),
                0.0,
                known.lattice,
                known.index,
                known.slack + 2.0**-50,
                known.blur,
            )
            finite.append((rest, times))
        else:
            raise UnsupportedComposition(
                "a loss that may be infinite is known here only as a table or as approx()."
            )
    return tuple(finite), delta * (1 + 1e-12)
