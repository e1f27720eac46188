"""Release that looks at the data, and what a release cost one person."""

from dalenius.adaptive import statistics
from dalenius.adaptive.inverse_sensitivity import InverseSensitivity
from dalenius.adaptive.median import MedianRelease, median, median_mechanism
from dalenius.adaptive.pate.consensus_vote import ConsensusVote, pate_ptr, pate_ptr_smooth
from dalenius.adaptive.pate.gnmax import GNMax
from dalenius.adaptive.pate.smooth_sensitivity import VoteBound
from dalenius.adaptive.personal.data_dependent import DataDependentReport
from dalenius.adaptive.personal.ex_post import (
    gaussian_loss,
    glm_losses,
    laplace_loss,
    objective_perturbation_loss,
    posterior_sample_loss,
)
from dalenius.adaptive.personal.goe import goe_quantile
from dalenius.adaptive.personal.per_instance import statistics_loss
from dalenius.adaptive.personal.report import PrivacyReport
from dalenius.adaptive.principal_components import pca_ptr
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
    "DataDependentReport",
    "GNMax",
    "InverseSensitivity",
    "LocalInterquartileRange",
    "LocalMedian",
    "LocalRegressionScale",
    "MedianRelease",
    "NoisyMax",
    "PrivacyReport",
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
    "gaussian_loss",
    "glm_losses",
    "goe_quantile",
    "laplace_loss",
    "local_output_perturbation",
    "median",
    "median_mechanism",
    "objective_perturbation_loss",
    "ops_ptr",
    "pate_ptr",
    "pate_ptr_smooth",
    "pca_ptr",
    "posterior_sample_loss",
    "statistics",
    "statistics_loss",
]
