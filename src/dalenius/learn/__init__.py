"""Private models with scikit-learn's manners: `dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5)).fit(X, y)`."""

from __future__ import annotations

from dalenius.learn.classifiers import LinearSVC, LogisticRegression
from dalenius.learn.descent import Descent
from dalenius.learn.drawn_regression import (
    ExponentialLeastSquares,
    ExponentialQuantileRegression,
    GradientLeastSquares,
    GradientQuantileRegression,
)
from dalenius.learn.linear_regression import LinearRegression
from dalenius.learn.one_number import ExponentialMean, GradientMean
from dalenius.learn.one_posterior_sample import PosteriorSampleRegression
from dalenius.learn.one_quantile import ExponentialQuantile, GradientQuantile
from dalenius.learn.posterior_sample import AdaptivePosteriorSampleRegression
from dalenius.learn.public_bounds import PublicBounds
from dalenius.learn.refits import Refits
from dalenius.learn.regressors import HuberRegression, PoissonRegression
from dalenius.learn.row_check import RowCheck
from dalenius.learn.saved import from_json, load, save, to_json
from dalenius.learn.search import PrivateSearch
from dalenius.learn.subsample_aggregate import SubsampleAggregate
from dalenius.learn.tries import FixedTries, GeometricTries, NegativeBinomialTries, PoissonTries

__all__ = [
    "AdaptivePosteriorSampleRegression",
    "Descent",
    "ExponentialLeastSquares",
    "ExponentialMean",
    "ExponentialQuantile",
    "ExponentialQuantileRegression",
    "FixedTries",
    "GeometricTries",
    "GradientLeastSquares",
    "GradientMean",
    "GradientQuantile",
    "GradientQuantileRegression",
    "HuberRegression",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "NegativeBinomialTries",
    "PoissonRegression",
    "PoissonTries",
    "PosteriorSampleRegression",
    "PrivateSearch",
    "PublicBounds",
    "Refits",
    "RowCheck",
    "SubsampleAggregate",
    "from_json",
    "load",
    "save",
    "to_json",
]
