"""Release that looks at the data, and what a release cost one person."""

from dalenius.adaptive import statistics
from dalenius.adaptive.inverse_sensitivity import InverseSensitivity
from dalenius.adaptive.median import MedianRelease, median, median_mechanism
from dalenius.adaptive.pate.consensus_vote import ConsensusVote, pate_ptr, pate_ptr_smooth
from dalenius.adaptive.pate.gnmax import GNMax
from dalenius.adaptive.pate.smooth_sensitivity import VoteBound
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
from dalenius.adaptive.regression.local_output_perturbation import local_output_perturbation
from dalenius.adaptive.regression.ops_ptr import ops_ptr
from dalenius.adaptive.smooth.gaussian import SmoothGaussian
from dalenius.adaptive.smooth.laplace import SmoothLaplace
from dalenius.adaptive.smooth.laplace_log_normal import SmoothLaplaceLogNormal
from dalenius.adaptive.smooth.student_t import SmoothCauchy, SmoothStudentT

__all__ = [
    "BestRelease",
    "CalibratedRelease",
    "ConsensusVote",
    "GNMax",
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
    "VoteBound",
    "local_output_perturbation",
    "median",
    "median_mechanism",
    "ops_ptr",
    "pate_ptr",
    "pate_ptr_smooth",
    "statistics",
]
