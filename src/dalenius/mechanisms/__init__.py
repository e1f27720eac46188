"""Private releases: each object says what comes out and what it costs."""

from dalenius.mechanisms._support.hull import Hull
from dalenius.mechanisms._support.threshold_watch import Stopped, Watch
from dalenius.mechanisms.above_threshold import AboveThreshold
from dalenius.mechanisms.analyze_gauss import AnalyzeGauss
from dalenius.mechanisms.canonical_noise import CanonicalNoise
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.mechanisms.exponential import Exponential
from dalenius.mechanisms.gaussian import Gaussian
from dalenius.mechanisms.geometric import Geometric
from dalenius.mechanisms.histogram import Histogram
from dalenius.mechanisms.interval_exponential import IntervalExponential
from dalenius.mechanisms.k_norm import KNorm
from dalenius.mechanisms.laplace import Laplace
from dalenius.mechanisms.mechanism import Mechanism, Neighbours
from dalenius.mechanisms.permute_and_flip import PermuteAndFlip
from dalenius.mechanisms.quantile import Quantile
from dalenius.mechanisms.quantiles import Quantiles
from dalenius.mechanisms.randomized_response import Proportions, RandomizedResponse
from dalenius.mechanisms.report_noisy_max import ReportNoisyMax
from dalenius.mechanisms.sparse_vector import SparseVector
from dalenius.mechanisms.stability_histogram import StabilityHistogram
from dalenius.mechanisms.staircase import Staircase
from dalenius.mechanisms.tulap import Tulap

__all__ = [
    "AboveThreshold",
    "AnalyzeGauss",
    "CanonicalNoise",
    "DiscreteGaussian",
    "Exponential",
    "Gaussian",
    "Geometric",
    "Histogram",
    "Hull",
    "IntervalExponential",
    "KNorm",
    "Laplace",
    "Mechanism",
    "Neighbours",
    "PermuteAndFlip",
    "Proportions",
    "Quantile",
    "Quantiles",
    "RandomizedResponse",
    "ReportNoisyMax",
    "SparseVector",
    "StabilityHistogram",
    "Staircase",
    "Stopped",
    "Tulap",
    "Watch",
]
