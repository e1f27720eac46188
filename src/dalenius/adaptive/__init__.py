"""Release that looks at the data, and what a release cost one person."""

from __future__ import annotations

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
from dalenius.adaptive.ptr.propose_test_release import ProposeTestRelease
from dalenius.adaptive.ptr.refusal import Refusal

__all__ = [
    "DataDependentReport",
    "PrivacyReport",
    "ProposeTestRelease",
    "Refusal",
    "gaussian_loss",
    "glm_losses",
    "goe_quantile",
    "laplace_loss",
    "objective_perturbation_loss",
    "posterior_sample_loss",
    "statistics_loss",
]
