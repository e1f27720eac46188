"""Many questions about one table: workloads of linear queries, and ways to answer them together."""

from dalenius.core.exports import exported
from dalenius.queries.domain import Bins as Bins
from dalenius.queries.domain import Domain as Domain
from dalenius.queries.marginals.adaptive_marginals import AdaptiveMarginals as AdaptiveMarginals
from dalenius.queries.marginals.marginals_release import MarginalsRelease as MarginalsRelease
from dalenius.queries.release import Release as Release
from dalenius.queries.workload.choice import Choice as Choice
from dalenius.queries.workload.workload import Workload as Workload

__all__ = exported(globals())
