"""What a notebook shows of losses and promises."""

from __future__ import annotations

import re
import time

import pytest

import dalenius as dp
from dalenius.calculus import notebook


def cells(shown: str) -> list[str]:
    return re.findall(r"<td[^>]*>(.*?)</td>", shown)


def test_a_loss_shows_what_its_views_say() -> None:
    loss = dp.losses.gaussian(sigma=2.0)
    shown = loss._repr_html_()
    found = cells(shown)
    assert found[0] == "gaussian(sigma=2)"
    assert float(found[2]) == pytest.approx(loss.epsilon(1e-5), rel=1e-3)
    assert float(found[2]) >= loss.epsilon(1e-5)
    assert float(found[3]) >= loss.epsilon(1e-9)
    assert found[4] == "at most 59.9 %"  # Phi(1 / 4) = .5987
    heights = [
        float(y)
        for _, y in re.findall(r"([\d.]+),([\d.]+)", re.search(r'polyline points="([^"]+)"', shown)[1])
    ]
    assert heights == sorted(heights, reverse=True)
    assert heights[0] == pytest.approx(notebook.SIZE + 8)
    assert heights[-1] == pytest.approx(8)


def test_a_loss_that_takes_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = dp.losses.gaussian(sigma=2.0)
    monkeypatch.setattr(notebook, "PATIENCE", 0.0)
    monkeypatch.setattr(type(loss), "epsilon", lambda self, delta: time.sleep(0.002) or 1.0)
    shown = loss._repr_html_()
    assert "takes longer" in shown
    assert "<svg" not in shown


def test_expressions_are_text() -> None:
    loss = dp.losses.gaussian(sigma=2.0)
    loss.expression = "<script>"
    assert "<script>" not in loss._repr_html_()


@pytest.mark.parametrize(
    "promise", [dp.PureDP(1.0), dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.5), dp.GDP(1.0), dp.RDP(2.0, 0.1)], ids=repr
)
def test_promises(promise: dp.Guarantee) -> None:
    found = cells(promise._repr_html_())
    assert found[0] == repr(promise)
    assert 50 < float(found[1].removeprefix("at most ").removesuffix(" %")) < 80
