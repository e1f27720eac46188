"""Sums of scores over rows, exact and then noisy: what estimation by descent or Newton's method is made of."""

from dalenius.core.exports import exported
from dalenius.infer.scores.array_source import ArraySource as ArraySource
from dalenius.infer.scores.noisy_sums import NoisySums as NoisySums
from dalenius.infer.scores.noisy_sums import Released as Released
from dalenius.infer.scores.score import CurveScore as CurveScore
from dalenius.infer.scores.score import Score as Score
from dalenius.infer.scores.source import Rows as Rows
from dalenius.infer.scores.source import Source as Source
from dalenius.infer.scores.source import Standard as Standard
from dalenius.infer.scores.source import Totals as Totals

__all__ = exported(globals())
