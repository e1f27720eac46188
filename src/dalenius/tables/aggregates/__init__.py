"""What one can ask about each group: one file for each kind of aggregate, all of them listed here.

Each aggregate says which measures it is made of; noise is added to those. SQL, the command line, explanations, answers
and the ledger find the kinds through `KINDS`, `NAMED` and `from_record`, and an unknown one is an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter, LedgerError, Refused
from dalenius.tables.aggregates.adaptive_quantile import AdaptiveQuantile
from dalenius.tables.aggregates.aggregate import Aggregate
from dalenius.tables.aggregates.bounds import FindBounds, bounds
from dalenius.tables.aggregates.correlation import Correlation, correlation
from dalenius.tables.aggregates.count import Count, count
from dalenius.tables.aggregates.count_distinct import CountDistinct, count_distinct
from dalenius.tables.aggregates.covariance import Covariance, covariance
from dalenius.tables.aggregates.histogram import Histogram, histogram
from dalenius.tables.aggregates.mean import Mean, mean
from dalenius.tables.aggregates.mode import Mode, mode
from dalenius.tables.aggregates.proportion import Proportion, proportion
from dalenius.tables.aggregates.proposed_quantile import ProposedQuantile
from dalenius.tables.aggregates.quantiles import Quantiles, median, quantile, quantiles
from dalenius.tables.aggregates.smooth_quantile import SmoothQuantile
from dalenius.tables.aggregates.std import Std, std
from dalenius.tables.aggregates.sum import Sum, sum
from dalenius.tables.aggregates.top_k import TopK, top_k
from dalenius.tables.aggregates.variance import Variance, variance

__all__ = [
    "KINDS",
    "NAMED",
    "Aggregate",
    "asked",
    "bounds",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "from_record",
    "histogram",
    "mean",
    "median",
    "mode",
    "proportion",
    "quantile",
    "quantiles",
    "std",
    "sum",
    "top_k",
    "variance",
]

KINDS: tuple[type[Aggregate], ...] = (
    Count,
    CountDistinct,
    Sum,
    Mean,
    Variance,
    Std,
    Covariance,
    Correlation,
    Proportion,
    Histogram,
    Quantiles,
    FindBounds,
    Mode,
    TopK,
    AdaptiveQuantile,
    SmoothQuantile,
    ProposedQuantile,
)

_BY_TAG: Mapping[str, type[Aggregate]] = {kind.tag: kind for kind in KINDS}
NAMED: Mapping[str, type[Aggregate]] = {name: kind for kind in KINDS for name in kind.sql_names}
"""The kinds by the functions of SQL that ask for them."""


def asked(content: object) -> Aggregate:
    """The aggregate that a record of a question asks for, whoever wrote it; InvalidParameter for anything else."""
    tag = content.get("kind") if isinstance(content, dict) else None
    kind = _BY_TAG.get(tag) if isinstance(tag, str) else None
    if kind is None or not isinstance(content, dict):
        raise InvalidParameter(
            f"an aggregate is {shown(content)}; it must be an object whose 'kind' is one of {', '.join(_BY_TAG)}."
        )
    return kind.asked(content)


def from_record(content: Mapping[str, Any]) -> Aggregate:
    """The aggregate whose `record()` this is; LedgerError for anything else."""
    tag = content.get("kind")
    kind = _BY_TAG.get(tag) if isinstance(tag, str) else None
    if kind is None:
        raise LedgerError(
            f"the record has an aggregate of the unknown kind {tag!r}; this dalenius knows {', '.join(_BY_TAG)}."
        )
    try:
        made = kind.from_record(dict(content))
    except (KeyError, TypeError, ValueError, AttributeError, Refused):
        made = None
    if made is None or made.record() != content:  # one aggregate has one record
        raise LedgerError(f"the record of a {kind.tag} is not as it is written.")
    return made
