"""Chains of neighbours: pairs whose masses are those of probabilities, and bounds of either side on their side."""

from __future__ import annotations

import itertools

import pytest
from mpmath import mp, mpf

import dalenius as dp

WITH, WITHOUT = (0.125, 0.5, 0.375), (0.25, 0.5, 0.25)
"""Their losses are log(1/2), 0 and log(3/2), as far as floats hold them: one tells nothing."""


def there_and_back() -> tuple[list[mpf], list[mpf]]:
    """A record removed and another added: the best tests of the one are the worst of the other."""
    with mp.workdps(30):
        slopes = [mpf(WITH[i]) / mpf(WITHOUT[i]) for i in (2, 1, 0)]
        p = [slope * mpf(WITHOUT[i]) for slope, i in zip(slopes, (2, 1, 0), strict=True)]
        return p, p[::-1]


@pytest.mark.parametrize("times", [1, 2, 4])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.8])
def test_a_loss_of_nothing_is_not_counted_on_both_sides(times: int, epsilon: float) -> None:
    loss = dp.losses.to_replace_one(dp.losses.from_pair(WITH, WITHOUT)) * times
    p, q = there_and_back()
    with mp.workdps(30):
        kinds = list(itertools.product(range(3), repeat=times))
        true = sum(
            max(mpf(0), mp.fprod(p[i] for i in k) - mp.exp(epsilon) * mp.fprod(q[i] for i in k))
            for k in kinds
        )
    side = loss.remove
    assert side.lower.delta(epsilon).lower <= true <= side.upper.delta(epsilon).upper
    assert loss.delta(epsilon) <= float(true) * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize(
    ("p", "q"),
    [
        (
            (0.0034143857383445828, 0.3442854742304677, 0.6523001400311877),
            (0.01021612558153561, 0.9897838744184645, 0.0),
        ),
        ((0.2, 0.5, 0.3), (0.3, 0.5, 0.2)),
        ((0.1, 0.3, 0.2, 0.4), (0.3, 0.3, 0.2, 0.2)),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_masses_of_a_chain_are_at_most_one(p: tuple[float, ...], q: tuple[float, ...], size: int) -> None:
    loss = dp.losses.from_pair(p, q)
    chain = dp.losses.to_replace_one(loss) if size == 1 else dp.losses.group(loss, size)
    for pair in (chain.terms_remove[0][0].lower, chain.terms_remove[0][0].upper):
        atoms = pair.as_atoms
        assert atoms is not None
        assert float(atoms.mass.sum()) + atoms.infinite <= 1 + 1e-9
