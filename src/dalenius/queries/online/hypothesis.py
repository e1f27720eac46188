"""A public guess at how the rows are distributed, moved by multiplicative weights."""

from __future__ import annotations

import numpy as np

from dalenius.core.arrays import Reals
from dalenius.queries.online.linear_query import LinearQuery, Marginals


class Hypothesis:
    """Probabilities of all cells, uniform at first; kept as logarithms, so that no cell is lost for ever.

    It has seen released numbers alone: whatever is computed from it costs nothing.

    A step (Arora, Hazan and Kale 2012). Let p be the hypothesis, x the distribution of the rows, q a query with
    weights in [0, 1] and d an estimate of a = q.x - q.p. Take p' proportional to p exp(4 d q). Then

        KL(x, p) - KL(x, p') = 4 d q.x - log sum_i p_i exp(4 d q_i) >= 4 d a - (4 d)^2 / 8 = 2 a^2 - 2 (d - a)^2,

    as the logarithm is at most 4 d q.p + (4 d)^2 / 8 (Hoeffding's lemma: q is within an interval of length 1).
    KL(x, uniform) is at most log |X| and no KL is negative: steps with 2 a^2 - 2 (d - a)^2 above s, and none below
    0 beside them, are fewer than log |X| / s.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._log = np.zeros(shape)
        self._refresh()

    def _refresh(self) -> None:
        self._log -= self._log.max()
        weights = np.exp(self._log)
        self.probabilities: Reals = weights / weights.sum()
        self._marginals = Marginals(self.probabilities)

    def share(self, query: LinearQuery) -> float:
        """The query's answer, as a share of the rows."""
        return query.share(self._marginals.of(query.axes))

    def step(self, query: LinearQuery, difference: float) -> None:
        """Move towards a distribution whose share is larger by this much."""
        self._log += 4.0 * min(1.0, max(-1.0, difference)) * query.over(self._log.ndim)
        self._refresh()
