"""The local model: people randomize their own answers, and nobody need be trusted with the truth."""

from dalenius.core.exports import exported
from dalenius.local.frequencies import Frequencies as Frequencies
from dalenius.local.frequency_oracle import FrequencyOracle as FrequencyOracle
from dalenius.local.pure_oracle import PureOracle as PureOracle
from dalenius.local.randomized_response import RandomizedResponse as RandomizedResponse
from dalenius.local.unary_encoding import OptimizedUnaryEncoding as OptimizedUnaryEncoding
from dalenius.local.unary_encoding import SymmetricUnaryEncoding as SymmetricUnaryEncoding
from dalenius.local.unary_encoding import UnaryEncoding as UnaryEncoding

__all__ = exported(globals())
