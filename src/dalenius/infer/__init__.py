"""Statistics on private data: estimates with intervals, and tests, that allow for the noise they were given."""

from dalenius.core.exports import exported
from dalenius.infer.regression.linear_regression import LinearRegression as LinearRegression
from dalenius.infer.regression.linear_regression import linear_regression as linear_regression
from dalenius.infer.result import Result as Result

__all__ = exported(globals())
