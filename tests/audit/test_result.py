"""What an audit says of all its attacks together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.audit import Attack, Audit
from dalenius.errors import InvalidParameter


def _plain_id(value: object) -> str:
    """The same in every process: no addresses of functions."""
    return repr(value).split(" at 0x")[0]


def attack(alarms: int, misses: int, trials: int = 1000, failure: float = 0.05) -> Attack:
    return Attack("first", "output >= 0", alarms, misses, trials, failure)


def result(*attacks: Attack, claim: Any = None) -> Audit:
    return Audit("a release", attacks, 2000, 0.0, 0.95, claim)


class TestAudit:
    def test_says_what_its_best_attack_says(self) -> None:
        weak, strong = attack(300, 500), attack(20, 500)
        found = result(weak, strong)
        assert found.epsilon == strong.epsilon()
        assert found.epsilon_at(0.1) == strong.epsilon(0.1) < found.epsilon
        assert found.delta(0.5) == strong.delta(0.5)
        assert found.gdp == strong.gdp()

    def test_tradeoff_is_convex_and_symmetric(self) -> None:
        found = result(attack(300, 500), attack(20, 500), attack(1, 900))
        alpha = np.linspace(0, 1, 201)
        curve = np.array([found.tradeoff(a) for a in alpha])
        assert (np.diff(curve, 2) > -1e-12).all()
        assert curve[0] == 1.0
        assert curve[-1] == pytest.approx(0.0, abs=1e-12)
        assert (curve <= 1 - alpha + 1e-12).all()
        for one, two in found.points:
            assert found.tradeoff(two) == pytest.approx(one, abs=1e-12)

    def test_tradeoff_passes_below_every_attack(self) -> None:
        attacks = [attack(300, 500), attack(20, 500), attack(1, 900)]
        found = result(*attacks)
        for a in attacks:
            assert found.tradeoff(a.type_one) <= a.type_two + 1e-12
            assert found.tradeoff(a.type_two) <= a.type_one + 1e-12

    @pytest.mark.parametrize(
        ("true", "false"),
        [
            (dp.PureDP(4.0), dp.PureDP(2.0)),
            (4.0, 2),
            (dp.ApproxDP(1.0, 0.5), dp.ApproxDP(1.0, 0.1)),
            (dp.GDP(2.5), dp.GDP(1.0)),
            (dp.ZCDP(4.0), dp.ZCDP(0.1)),
            (dp.RDP(2.0, 6.0), dp.RDP(2.0, 0.1)),
            (losses.laplace(0.25), losses.laplace(1.0)),
            (losses.gaussian(0.4), losses.gaussian(2.0)),
            (
                dp.TradeOff(dp.theorems.gaussian_tradeoff(2.5)),
                dp.TradeOff(dp.theorems.gaussian_tradeoff(1.0)),
            ),
        ],
        ids=_plain_id,
    )
    def test_contradicts(self, true: Any, false: Any) -> None:
        found = result(attack(20, 500), attack(300, 100))
        assert not found.contradicts(true)
        assert found.contradicts(false)

    def test_contradicts_the_mechanisms_own_claim(self) -> None:
        assert result(attack(20, 500), claim=losses.pure(1.0)).contradicts()
        assert not result(attack(20, 500), claim=losses.pure(4.0)).contradicts()

    def test_a_function_claims_nothing(self) -> None:
        with pytest.raises(InvalidParameter, match="name the claim"):
            result(attack(20, 500)).contradicts()

    @pytest.mark.parametrize("claim", ["1.0", True, object(), [1.0]])
    def test_refuses_what_is_no_claim(self, claim: Any) -> None:
        with pytest.raises(InvalidParameter, match="claim"):
            result(attack(20, 500)).contradicts(claim)

    def test_repr_and_explain(self) -> None:
        found = result(attack(20, 500), claim=losses.pure(1.0))
        assert (
            repr(found) == "Audit(epsilon >= 2.724 at delta = 0, confidence 0.95, 2000 trials of a release)"
        )
        text = found.explain()
        assert "accuses the first input when output >= 0" in text
        assert "epsilon is at least 2.724" in text
        assert "CONTRADICTED" in text
        assert "at most 0.05" in text
        assert "not contradicted" in result(attack(500, 480), claim=losses.pure(1.0)).explain()
        assert "tells the two inputs apart" in result(attack(500, 500)).explain()

    def test_plot(self, tmp_path: Any) -> None:
        result(attack(20, 500), claim=losses.pure(1.0)).plot(str(tmp_path / "audit.png"))
        assert (tmp_path / "audit.png").stat().st_size > 10_000
        result(attack(20, 500)).plot()
        result(attack(20, 500)).plot(claim=1.0)
