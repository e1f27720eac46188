"""Statistics on private data: estimates with intervals, and tests, that allow for the noise they were given."""

from dalenius.core.exports import exported
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
