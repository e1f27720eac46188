"""The front door to privacy losses: `dalenius.losses.gaussian(sigma=1.0)` and its relatives."""

from dalenius.calculus.losses import *  # noqa: F403
from dalenius.calculus.losses import __all__ as __all__
