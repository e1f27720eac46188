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

__all__ = [
    "DataDependentReport",
    "PrivacyReport",
    "gaussian_loss",
    "glm_losses",
    "goe_quantile",
    "laplace_loss",
    "objective_perturbation_loss",
    "posterior_sample_loss",
    "statistics_loss",
]
