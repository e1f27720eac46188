"""Ready models for simulation and posteriors: `dalenius.infer.models`. What they release are sums over rows."""

from dalenius.core.exports import exported
from dalenius.infer.simulation.models.bernoulli import Bernoulli as Bernoulli
from dalenius.infer.simulation.models.family import Family as Family
from dalenius.infer.simulation.models.linear_regression import LinearRegression as LinearRegression
from dalenius.infer.simulation.models.multinomial import Multinomial as Multinomial
from dalenius.infer.simulation.models.normal import Normal as Normal
from dalenius.infer.simulation.models.poisson import Poisson as Poisson

__all__ = exported(globals())
