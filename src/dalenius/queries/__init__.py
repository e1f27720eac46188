"""Many questions about one table: workloads of linear queries, and ways to answer them together."""

from dalenius.core.exports import exported
from dalenius.queries.domain import Bins as Bins
from dalenius.queries.domain import Domain as Domain
from dalenius.queries.histogram_noise import HistogramNoise as HistogramNoise
from dalenius.queries.marginals.adaptive_marginals import AdaptiveMarginals as AdaptiveMarginals
from dalenius.queries.marginals.marginals_release import MarginalsRelease as MarginalsRelease
from dalenius.queries.matrix.mechanism import MatrixMechanism as MatrixMechanism
from dalenius.queries.online.curator import Curator as Curator
from dalenius.queries.online.curator import OnlineAnswer as OnlineAnswer
from dalenius.queries.online.distribution_release import DistributionRelease as DistributionRelease
from dalenius.queries.online.mwem import MWEM as MWEM
from dalenius.queries.online.private_multiplicative_weights import (
    PrivateMultiplicativeWeights as PrivateMultiplicativeWeights,
)
from dalenius.queries.online.small_database import SmallDB as SmallDB
from dalenius.queries.per_query import PerQuery as PerQuery
from dalenius.queries.release import Release as Release
from dalenius.queries.workload.choice import Choice as Choice
from dalenius.queries.workload.workload import Workload as Workload

__all__ = exported(globals())
