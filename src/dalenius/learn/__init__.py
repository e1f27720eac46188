"""Private models with scikit-learn's manners: `dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-5)).fit(X, y)`."""

from __future__ import annotations

from dalenius.adaptive.selection.trial_counts import (
    FixedTries,
    GeometricTries,
    NegativeBinomialTries,
    PoissonTries,
)
from dalenius.learn.data.refits import Refits
from dalenius.learn.methods.descent import Descent
from dalenius.learn.models.adaptive_posterior_sample_regression import AdaptivePosteriorSampleRegression
from dalenius.learn.models.classifiers import LinearSVC, LogisticRegression
from dalenius.learn.models.data_quality import RowCheck
from dalenius.learn.models.exponential_regression import (
    ExponentialLeastSquares,
    ExponentialQuantileRegression,
    GradientLeastSquares,
    GradientQuantileRegression,
)
from dalenius.learn.models.linear_regression import LinearRegression
from dalenius.learn.models.mean import ExponentialMean, GradientMean
from dalenius.learn.models.posterior_sample_regression import PosteriorSampleRegression
from dalenius.learn.models.public_bounds import PublicBounds
from dalenius.learn.models.quantile import ExponentialQuantile, GradientQuantile
from dalenius.learn.models.regressors import HuberRegression, PoissonRegression
from dalenius.learn.models.search import PrivateSearch
from dalenius.learn.models.subsample_aggregate import SubsampleAggregate
from dalenius.learn.saved import from_json, load, save, to_json

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
