"""Statistics that know how sensitive they are at the data at hand, and at data k records away."""

from dalenius.adaptive.smooth.statistics.custom import Custom
from dalenius.adaptive.smooth.statistics.median import Median
from dalenius.adaptive.smooth.statistics.quantile import Quantile
from dalenius.adaptive.smooth.statistics.statistic import Statistic
from dalenius.adaptive.smooth.statistics.trimmed_mean import TrimmedMean
from dalenius.adaptive.smooth.statistics.variance import Variance

__all__ = ["Custom", "Median", "Quantile", "Statistic", "TrimmedMean", "Variance"]
