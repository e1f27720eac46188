"""Statistics on private data: estimates with intervals, and tests, that allow for the noise they were given."""

from dalenius.core.exports import exported
from dalenius.infer.estimates.contingency import contingency as contingency
from dalenius.infer.estimates.correlation import correlation as correlation
from dalenius.infer.estimates.difference import difference_of_means as difference_of_means
from dalenius.infer.estimates.mean import mean as mean
from dalenius.infer.estimates.proportion import proportion as proportion
from dalenius.infer.estimates.quantiles import median as median
from dalenius.infer.estimates.quantiles import quantiles as quantiles
from dalenius.infer.estimates.spread import std as std
from dalenius.infer.estimates.spread import variance as variance
from dalenius.infer.result import Result as Result

__all__ = exported(globals())
