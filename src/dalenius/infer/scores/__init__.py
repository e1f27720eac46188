"""Sums of scores over rows, exact and then noisy: what estimation by descent or Newton's method is made of."""

from dalenius.core.exports import exported
from dalenius.infer.scores.array_source import ArraySource as ArraySource
from dalenius.infer.scores.averaged_newton import Shares as Shares
from dalenius.infer.scores.averaged_newton import averaged_newton as averaged_newton
from dalenius.infer.scores.averaged_newton import averaged_steps as averaged_steps
from dalenius.infer.scores.curvature import Curvature as Curvature
from dalenius.infer.scores.noisy_sums import NoisySums as NoisySums
from dalenius.infer.scores.noisy_sums import Released as Released
from dalenius.infer.scores.sandwich import Fit as Fit
from dalenius.infer.scores.sandwich import Sandwich as Sandwich
from dalenius.infer.scores.score import CurveScore as CurveScore
from dalenius.infer.scores.score import Score as Score
from dalenius.infer.scores.source import Rows as Rows
from dalenius.infer.scores.source import Source as Source
from dalenius.infer.scores.source import Standard as Standard
from dalenius.infer.scores.source import Totals as Totals
from dalenius.infer.scores.standardise import standardise as standardise

__all__ = exported(globals())
