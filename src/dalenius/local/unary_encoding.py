"""Unary encodings: a bit for each answer, and every bit is flipped now and then."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss, call
from dalenius.core.adjacency import REPLACE_ONE, Adjacency
from dalenius.core.arrays import Ints
from dalenius.local.packed_reports import Bytes, checked, clear_padding, column_sums, put, width
from dalenius.local.pure_oracle import PureOracle
from dalenius.local.two_level import two_level_loss
from dalenius.mechanisms._support.exact_coin import exp_minus
from dalenius.noise import bernoulli, packed_bernoulli


class UnaryEncoding(PureOracle):
    """A person's own bit is 1 with probability p, each other bit with probability q, all of them independent.

    Two answers differ in two bits, and the reports that tell them apart have one of the two set: the first with
    probability p (1 - q) under the first answer and (1 - p) q under the second. Their ratio is e^epsilon.

    Examples
    --------
    >>> import dalenius as dp
    >>> issubclass(dp.local.SymmetricUnaryEncoding, dp.local.UnaryEncoding)
    True
    """

    def __post_init__(self) -> None:
        self._check()
        _ = self.loss

    @property
    @abstractmethod
    def _name(self) -> str: ...

    @cached_property
    def loss(self) -> Loss:
        return two_level_loss(
            self.epsilon, self.p * (1 - self.q), call(self._name, epsilon=self.epsilon, k=self.k)
        )

    @property
    def report_bits(self) -> int:
        return self.k

    def _draw(self, answers: Ints) -> Bytes:
        n, row = len(answers), width(self.k)
        reports = packed_bernoulli(self.q, n * row).reshape(n, row)
        put(reports, answers, np.asarray(bernoulli(self.p, n)))
        clear_padding(reports, self.k)
        return reports

    def people(self, reports: Any) -> int:
        return len(checked(reports, self.k))

    def tally(self, reports: Any) -> Ints:
        return column_sums(checked(reports, self.k), self.k)


@dataclass(frozen=True, kw_only=True)
class SymmetricUnaryEncoding(UnaryEncoding):
    """A bit for each answer, each told truly with probability p = e^(epsilon/2)/(e^(epsilon/2) + 1), and q = 1 - p.

    Basic one-time RAPPOR (Erlingsson, Pihur and Korolova 2014). A report is a row of bytes, the first answer in the
    lowest bit of the first one.

    Parameters
    ----------
    epsilon
        The privacy parameter of one report.
    k
        The number of possible answers.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> m = dp.local.SymmetricUnaryEncoding(epsilon=1.0, k=20)
    >>> reports = m.release(np.arange(20))
    >>> reports.shape, reports.dtype, round(float(m.p), 6)
    ((20, 3), dtype('uint8'), 0.622459)
    """

    epsilon: float
    k: int
    adjacency: Adjacency = field(default=REPLACE_ONE, init=False)
    _name = "symmetric_unary_encoding"

    @cached_property
    def q(self) -> Fraction:
        half = exp_minus(Fraction(self.epsilon) / 2)
        return half / (1 + half)

    @cached_property
    def p(self) -> Fraction:
        return 1 - self.q


@dataclass(frozen=True, kw_only=True)
class OptimizedUnaryEncoding(UnaryEncoding):
    """A bit for each answer: a person's own is a fair coin, each other one is set with q = 1/(e^epsilon + 1).

    (Wang, Blocki, Li and Jha 2017.) For rare answers the variance, 4 e^epsilon/(e^epsilon - 1)^2 / n, is the least of
    all unary encodings. A report is a row of bytes, the first answer in the lowest bit of the first one.

    Parameters
    ----------
    epsilon
        The privacy parameter of one report.
    k
        The number of possible answers.

    Examples
    --------
    >>> import numpy as np
    >>> import dalenius as dp
    >>> m = dp.local.OptimizedUnaryEncoding(epsilon=1.0, k=1000)
    >>> reports = m.release(np.arange(500))
    >>> shares = m.frequencies(reports)
    >>> round(m.noise_variance(0.0, people=500) * 500, 4)
    3.6827
    """

    epsilon: float
    k: int
    adjacency: Adjacency = field(default=REPLACE_ONE, init=False)
    _name = "optimized_unary_encoding"

    @cached_property
    def q(self) -> Fraction:
        other = exp_minus(Fraction(self.epsilon))
        return other / (1 + other)

    @property
    def p(self) -> Fraction:
        return Fraction(1, 2)
