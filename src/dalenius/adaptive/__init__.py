"""Release that looks at the data, and what a release cost one person."""

from dalenius.adaptive import statistics
from dalenius.adaptive.inverse_sensitivity import InverseSensitivity
from dalenius.adaptive.median import MedianRelease, median, median_mechanism
from dalenius.adaptive.ptr import (
    BestRelease,
    CalibratedRelease,
    LocalInterquartileRange,
    LocalMedian,
    LocalRegressionScale,
    NoisyMax,
    ProposeTestRelease,
    Refusal,
    StableMode,
    StableScale,
    StableValue,
)
from dalenius.adaptive.smooth.gaussian import SmoothGaussian
from dalenius.adaptive.smooth.laplace import SmoothLaplace
from dalenius.adaptive.smooth.laplace_log_normal import SmoothLaplaceLogNormal
from dalenius.adaptive.smooth.student_t import SmoothCauchy, SmoothStudentT

__all__ = [
    "BestRelease",
    "CalibratedRelease",
    "InverseSensitivity",
    "LocalInterquartileRange",
    "LocalMedian",
    "LocalRegressionScale",
    "MedianRelease",
    "NoisyMax",
    "ProposeTestRelease",
    "Refusal",
    "SmoothCauchy",
    "SmoothGaussian",
    "SmoothLaplace",
    "SmoothLaplaceLogNormal",
    "SmoothStudentT",
    "StableMode",
    "StableScale",
    "StableValue",
    "median",
    "median_mechanism",
    "statistics",
]
