"""The local model: people randomize their own answers, and nobody need be trusted with the truth."""

from dalenius.core.exports import exported
from dalenius.local.best import Candidate as Candidate
from dalenius.local.best import Choice as Choice
from dalenius.local.best import best as best
from dalenius.local.duchi import Duchi as Duchi
from dalenius.local.frequencies import Frequencies as Frequencies
from dalenius.local.frequency_oracle import FrequencyOracle as FrequencyOracle
from dalenius.local.hadamard_response import HadamardResponse as HadamardResponse
from dalenius.local.heavy_hitters import HeavyHitters as HeavyHitters
from dalenius.local.heavy_hitters import heavy_hitters as heavy_hitters
from dalenius.local.histogram import histogram as histogram
from dalenius.local.hybrid import Hybrid as Hybrid
from dalenius.local.laplace import Laplace as Laplace
from dalenius.local.local_hashing import LocalHashing as LocalHashing
from dalenius.local.mean import mean as mean
from dalenius.local.mean_estimate import MeanEstimate as MeanEstimate
from dalenius.local.mean_randomizer import MeanRandomizer as MeanRandomizer
from dalenius.local.piecewise import Piecewise as Piecewise
from dalenius.local.pure_oracle import PureOracle as PureOracle
from dalenius.local.randomized_response import RandomizedResponse as RandomizedResponse
from dalenius.local.subset_selection import SubsetSelection as SubsetSelection
from dalenius.local.unary_encoding import OptimizedUnaryEncoding as OptimizedUnaryEncoding
from dalenius.local.unary_encoding import SymmetricUnaryEncoding as SymmetricUnaryEncoding
from dalenius.local.unary_encoding import UnaryEncoding as UnaryEncoding
from dalenius.local.wire.aggregator import Aggregator as Aggregator
from dalenius.local.wire.client import Client as Client
from dalenius.local.wire.page import survey_page as survey_page
from dalenius.local.wire.parameters import Parameters as Parameters

__all__ = exported(globals())
