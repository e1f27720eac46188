"""Statistics on private data: estimates with intervals, and tests, that allow for the noise they were given."""

from dalenius.core.exports import exported
from dalenius.infer.local_model.estimates import local_linear_regression as local_linear_regression
from dalenius.infer.local_model.estimates import local_location as local_location
from dalenius.infer.local_model.estimates import local_logistic_regression as local_logistic_regression
from dalenius.infer.local_model.randomized_response import randomized_response as randomized_response
from dalenius.infer.result import Result as Result
from dalenius.infer.simulation import models as models
from dalenius.infer.simulation.bootstrap import bootstrap as bootstrap
from dalenius.infer.simulation.model import Model as Model
from dalenius.infer.simulation.model import SimulationModel as SimulationModel
from dalenius.infer.simulation.posterior import calibration_ranks as calibration_ranks
from dalenius.infer.simulation.posterior import posterior as posterior
from dalenius.infer.simulation.repro import repro_samples as repro_samples
from dalenius.infer.simulation.repro import repro_test as repro_test

__all__ = exported(globals())
