"""The bound against the binomial law."""

from __future__ import annotations

import pytest

from dalenius.audit.clopper_pearson import upper


@pytest.mark.parametrize(
    ("hits", "trials"), [(0, 10), (3, 10), (9, 10), (10, 10), (0, 500_000), (40, 500_000)]
)
@pytest.mark.parametrize("failure", [0.05, 1e-10])
def test_clopper_pearson(hits: int, trials: int, failure: float) -> None:
    """At the bound, a count that low has the stated probability; just below it, more."""
    from scipy.stats import binom

    bound = upper(hits, trials, failure)
    if hits == trials:
        assert bound == 1.0
        return
    assert binom.cdf(hits, trials, bound) <= failure
    assert binom.cdf(hits, trials, bound * (1 - 1e-7)) > failure * (1 - 1e-4)
    assert binom.cdf(hits, trials, bound * 0.99) > failure
