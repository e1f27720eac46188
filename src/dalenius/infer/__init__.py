"""Statistics on private data: estimates with intervals, and tests, that allow for the noise they were given."""

from dalenius.core.exports import exported
from dalenius.infer.glm.logistic import LogisticRegression as LogisticRegression
from dalenius.infer.glm.logistic import logistic_regression as logistic_regression
from dalenius.infer.glm.m_estimate import MEstimate as MEstimate
from dalenius.infer.glm.m_estimate import m_estimate as m_estimate
from dalenius.infer.glm.model_coefficients import ModelCoefficients as ModelCoefficients
from dalenius.infer.glm.model_coefficients import coefficients as coefficients
from dalenius.infer.glm.multinomial import MultinomialRegression as MultinomialRegression
from dalenius.infer.glm.multinomial import multinomial_regression as multinomial_regression
from dalenius.infer.glm.poisson import PoissonRegression as PoissonRegression
from dalenius.infer.glm.poisson import poisson_regression as poisson_regression
from dalenius.infer.influence.functions import gross_error_sensitivity as gross_error_sensitivity
from dalenius.infer.influence.functions import influence_function as influence_function
from dalenius.infer.influence.functions import sensitivity_curve as sensitivity_curve
from dalenius.infer.influence.huber_location import LocalHuberLocation as LocalHuberLocation
from dalenius.infer.influence.location import HuberLocation as HuberLocation
from dalenius.infer.influence.location import huber_location as huber_location
from dalenius.infer.regression.linear_regression import LinearRegression as LinearRegression
from dalenius.infer.regression.linear_regression import linear_regression as linear_regression
from dalenius.infer.result import Result as Result

__all__ = exported(globals())
