"""Statistics that know how sensitive they are at the data at hand, and at data k records away."""

from dalenius.adaptive.statistics.binned_quantile import BinnedQuantile
from dalenius.adaptive.statistics.custom import Custom
from dalenius.adaptive.statistics.median import Median
from dalenius.adaptive.statistics.quantile import Quantile
from dalenius.adaptive.statistics.statistic import Statistic
from dalenius.adaptive.statistics.trimmed_mean import TrimmedMean
from dalenius.adaptive.statistics.variance import Variance

__all__ = ["BinnedQuantile", "Custom", "Median", "Quantile", "Statistic", "TrimmedMean", "Variance"]
