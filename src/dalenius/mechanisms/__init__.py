"""Private releases: each object says what comes out and what it costs."""

from dalenius.core.exports import exported
from dalenius.mechanisms._support.correlated_stream import CorrelatedStream as CorrelatedStream
from dalenius.mechanisms._support.hull import Hull as Hull
from dalenius.mechanisms._support.threshold_watch import Stopped as Stopped
from dalenius.mechanisms._support.threshold_watch import Watch as Watch
from dalenius.mechanisms._support.toeplitz_design import best_buffers as best_buffers
from dalenius.mechanisms._support.toeplitz_design import best_toeplitz as best_toeplitz
from dalenius.mechanisms.above_threshold import AboveThreshold as AboveThreshold
from dalenius.mechanisms.analyze_gauss import AnalyzeGauss as AnalyzeGauss
from dalenius.mechanisms.canonical_noise import CanonicalNoise as CanonicalNoise
from dalenius.mechanisms.correlated_gaussian import CorrelatedGaussian as CorrelatedGaussian
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian as DiscreteGaussian
from dalenius.mechanisms.exponential import Exponential as Exponential
from dalenius.mechanisms.gaussian import Gaussian as Gaussian
from dalenius.mechanisms.geometric import Geometric as Geometric
from dalenius.mechanisms.histogram import Histogram as Histogram
from dalenius.mechanisms.interval_exponential import IntervalExponential as IntervalExponential
from dalenius.mechanisms.k_norm import KNorm as KNorm
from dalenius.mechanisms.laplace import Laplace as Laplace
from dalenius.mechanisms.matrix_counter import MatrixCounter as MatrixCounter
from dalenius.mechanisms.mechanism import Mechanism as Mechanism
from dalenius.mechanisms.mechanism import Neighbours as Neighbours
from dalenius.mechanisms.permute_and_flip import PermuteAndFlip as PermuteAndFlip
from dalenius.mechanisms.quantile import Quantile as Quantile
from dalenius.mechanisms.quantiles import Quantiles as Quantiles
from dalenius.mechanisms.randomized_response import Proportions as Proportions
from dalenius.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
from dalenius.mechanisms.report_noisy_max import ReportNoisyMax as ReportNoisyMax
from dalenius.mechanisms.skellam import Skellam as Skellam
from dalenius.mechanisms.sparse_vector import SparseVector as SparseVector
from dalenius.mechanisms.stability_histogram import StabilityHistogram as StabilityHistogram
from dalenius.mechanisms.staircase import Staircase as Staircase
from dalenius.mechanisms.tree_counter import TreeCounter as TreeCounter
from dalenius.mechanisms.tulap import Tulap as Tulap

__all__ = exported(globals())
