"""Randomized response as a way to count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.core.arrays import Ints
from dalenius.errors import InvalidParameter
from dalenius.local.pure_oracle import PureOracle
from dalenius.mechanisms import randomized_response as mechanisms
from dalenius.mechanisms._support.answers import as_answers


@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(mechanisms.RandomizedResponse, PureOracle):
    """`dalenius.mechanisms.RandomizedResponse` with shares and intervals for many people's reports.

    The truth with probability p = e^epsilon/(e^epsilon + k - 1), else one of the other k - 1 answers (Warner 1965;
    Kairouz, Bonawitz and Ramage 2016). The best there is for k = 2, and while k is below about 3 e^epsilon + 2.

    Parameters
    ----------
    epsilon
        The privacy parameter of one report.
    k
        The number of possible answers.
    adjacency
        REPLACE_ONE, as the number of answers is public.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> m = dp.local.RandomizedResponse(epsilon=1.0)
    >>> reports = m.release(np.repeat([0, 1], [700, 300]))
    >>> m.frequencies(reports).estimate.shape, round(float(m.p), 6)
    ((2,), 0.731059)
    """

    @cached_property
    def p(self) -> Fraction:
        return 1 - self._chance

    @cached_property
    def q(self) -> Fraction:
        return self._chance / (self.k - 1)

    @property
    def report_bits(self) -> int:
        return (self.k - 1).bit_length()

    def people(self, reports: Any) -> int:
        return int(np.size(reports))

    def tally(self, reports: Any) -> Ints:
        if self.k > self.most:
            raise InvalidParameter.of("k", f"k is {self.k}; shares are kept for at most {self.most} answers.")
        return np.bincount(as_answers(reports, self.k, "reports").ravel(), minlength=self.k)

    def _draw(self, answers: Ints) -> Ints:
        return np.asarray(self.release(answers))
