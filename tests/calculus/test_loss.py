"""A loss as a value, as text and as a picture."""

from __future__ import annotations

import copy
import math
import pickle
import re
from pathlib import Path

import pytest

import dalenius as dp
from dalenius import losses
from dalenius.calculus.explain import telling_delta

REPLACE = dp.REPLACE_ONE

SHOWN: dict[str, dp.Loss] = {
    "gaussian": losses.gaussian(2.0),
    "laplace * 3": losses.laplace(2.0) * 3,
    "leak": losses.approx(0.5, 1e-9),
    "big leak": losses.approx(0.5, 0.3),
    "pure": losses.pure(1.0),
    "tiny": losses.pure(1e-5),
    "large": losses.pure(20.0),
    "sampled": losses.poisson_sampled(losses.gaussian(1.0), 0.05),
    "replaced": losses.cp(losses.pure(1.0, adjacency=REPLACE), 0.1),
    "only infinite": losses.from_pair([0.1, 0.9], [0.0, 1.0]),
    "all revealed": losses.from_pair([1.0, 0.0], [0.0, 1.0]),
}


# -- text ------------------------------------------------------------------------------------------


def percentages(text: str) -> list[float]:
    return [float(x) / 100 for x in re.findall(r"([\d.]+(?:e-?\d+)?) %", text)]


@pytest.mark.parametrize("name", SHOWN)
def test_explain_says_no_less_than_is_certified(name: str) -> None:
    loss = SHOWN[name]
    text = loss.explain()
    assert loss.expression in text
    assert loss.adjacency.value in text
    epsilon = loss.epsilon(1e-6)
    shares = percentages(text)
    if math.isfinite(epsilon):
        printed = re.search(r"It is \(([\d.e+-]+), 1e-06\)-differentially private", text)
        assert printed is not None
        assert epsilon <= float(printed[1]) <= epsilon * (1 + 1e-5) + 1e-12
        factor = re.search(r"more than ([\d.e+]+) times", text)
        assert factor is not None
        assert math.exp(epsilon) * (1 - 1e-12) <= float(factor[1]) <= math.exp(epsilon) * 1.002
    else:
        assert "no epsilon" in text
        assert loss.delta_at_infinity() * (1 - 1e-12) <= shares.pop(0) <= loss.delta_at_infinity() * 1.02
    failure = telling_delta(loss, 1e-6)
    assert failure >= 1e-6
    if "a chance of" in text:
        said = shares.pop(3)
        assert failure * (1 - 1e-12) <= said <= failure * 1.01
    guess, power, pair, *table = shares
    assert loss.auc() * (1 - 1e-12) <= pair <= loss.auc() * 1.02
    assert (1 + loss.membership_advantage()) / 2 * (1 - 1e-12) <= guess <= 1.0
    assert guess <= (1 + loss.membership_advantage()) / 2 + 0.01
    assert loss.power(0.01) * (1 - 1e-12) <= power <= loss.power(0.01) * 1.02 + 1e-9
    for before, after in zip(table[::2], table[1::2], strict=True):
        bound = loss.posterior(before, failure)
        assert bound * (1 - 1e-12) <= after <= bound * 1.02


def test_explain_an_approximate_promise() -> None:
    """What holds but for a small chance is told with that chance, not as certainty."""
    text = losses.approx(1.0, 1e-6).explain(1e-6)
    assert "but for one chance in 1 000 000:" in text
    assert "50 % before -> at most 73.2 % after" in text
    below = losses.approx(1.0, 1e-6).explain(1e-9)
    assert "no epsilon is promised at delta = 1e-09" in below
    assert text.splitlines()[-4:] == below.splitlines()[-4:]
    assert (
        "50 % before -> at most 97.45 % after" in (losses.approx(2.92, 1e-5) + losses.gaussian(5.0)).explain()
    )
    assert "It is 1-differentially private: no outcome" in losses.laplace(1.0).explain(0.0)


def test_explain_names_the_delta() -> None:
    text = losses.gaussian(1.0).explain(delta=1e-9)
    assert "1e-09" in text
    assert f"{losses.gaussian(1.0).epsilon(1e-9):.4f}" in text
    assert "replace one" in losses.gaussian(1.0, adjacency=REPLACE).explain()
    assert "your record or another" in losses.gaussian(1.0, adjacency=REPLACE).explain()


def test_explain_nothing() -> None:
    assert "does not depend on the data" in dp.Loss.zero().explain()


# -- pictures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHOWN)
def test_plot_draws_and_saves(name: str, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    path = tmp_path / "loss.png"
    figure = SHOWN[name].plot(str(path))
    assert isinstance(figure, Figure)
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    profile, errors = figure.axes
    assert profile.get_xlabel() == "epsilon"
    assert profile.get_yscale() == "log"
    assert "type I" in errors.get_xlabel()
    curve = errors.get_lines()[1].get_data()
    assert ((curve[1] >= 0) & (curve[1] <= 1 - curve[0] + 1e-9)).all()


def test_plot_without_a_path_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    losses.gaussian(1.0).plot()
    assert list(tmp_path.iterdir()) == []


def test_drawn_curves_are_the_views() -> None:
    loss = losses.gdp(1.0)
    figure = loss.plot()
    x, y = figure.axes[0].get_lines()[0].get_data()
    for i in (0, len(x) // 2, len(x) - 1):
        assert y[i] == pytest.approx(loss.delta(float(x[i])))
    alpha, beta = figure.axes[1].get_lines()[1].get_data()
    for i in (20, 200):
        assert beta[i] <= loss.tradeoff(float(alpha[i])) + 1e-9
        assert beta[i] == pytest.approx(loss.tradeoff(float(alpha[i])), abs=5e-3)


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "text"),
    [
        (losses.gaussian(2.0), "Loss(gaussian(sigma=2))"),
        (losses.gaussian(2.0, 3.0), "Loss(gaussian(sigma=2, sensitivity=3))"),
        (losses.laplace(0.5), "Loss(laplace(scale=0.5))"),
        (losses.pure(0.1) * 100, "Loss(pure(epsilon=0.1) * 100)"),
        (
            (losses.pure(0.1) + losses.gdp(1.0)) * 2,
            "Loss((pure(epsilon=0.1) + gdp(mu=1)) * 2)",
        ),
        (losses.randomized_response(1.0, 5), "Loss(randomized_response(epsilon=1, k=5))"),
        (
            losses.poisson_sampled(losses.gaussian(1.0), 0.01) * 10,
            "Loss(poisson_sampled(gaussian(sigma=1), rate=0.01) * 10)",
        ),
        (losses.pure(1.0, adjacency=REPLACE), "Loss(pure(epsilon=1, adjacency=replace_one))"),
        (dp.Loss.zero(), "Loss(nothing())"),
    ],
    ids=repr,
)
def test_repr(loss: dp.Loss, text: str) -> None:
    assert repr(loss) == text


def test_equality_is_of_laws() -> None:
    assert losses.gaussian(2.0) == losses.gdp(0.5)
    assert losses.gaussian(4.0, 2.0) == losses.gaussian(2.0)
    assert losses.pure(1.0) == losses.randomized_response(1.0)
    assert losses.gaussian(2.0) != losses.gaussian(2.0, adjacency=REPLACE)
    assert losses.gaussian(2.0) != losses.gaussian(2.1)
    assert losses.gaussian(2.0) != "gaussian(2)"
    assert len({losses.pure(1.0), losses.randomized_response(1.0), losses.laplace(1.0)}) == 2


def test_addition_commutes_and_associates() -> None:
    a, b, c = losses.laplace(2.0), losses.pure(0.3), losses.gaussian(1.0)
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert hash(a + b) == hash(b + a)
    assert a * 2 + a == 3 * a
    assert (a + b) * 2 == a * 2 + b * 2


def test_gaussian_sums_are_equal_however_they_are_grouped() -> None:
    for sigma in (1.0, 2.0, 3.0, 0.7, 1 / 3):
        g = losses.gaussian(sigma)
        assert g + g + g == g * 3
        assert hash(g + g + g) == hash(g * 3)


def test_sums() -> None:
    parts = [losses.laplace(2.0), losses.pure(0.3), losses.laplace(2.0)]
    assert sum(parts) == losses.laplace(2.0) * 2 + losses.pure(0.3)
    assert losses.total(parts) == sum(parts)
    assert losses.total([]) == dp.Loss.zero()
    assert losses.total(iter(parts)) == sum(parts)


def test_zero_is_neutral() -> None:
    loss = losses.gaussian(1.0)
    assert loss + dp.Loss.zero() == loss == dp.Loss.zero() + loss
    assert (
        losses.pure(0.0) == losses.gdp(0.0) == losses.zcdp(0.0) == losses.bounded_range(0.0) == dp.Loss.zero()
    )
    zero = dp.Loss.zero()
    assert zero.epsilon(0.0) == zero.delta(0.0) == zero.kl() == zero.zcdp() == zero.gdp() == 0.0
    assert zero.renyi(math.inf) == 0.0
    assert zero.delta(-1.0) == pytest.approx(1 - math.exp(-1))
    assert zero.posterior(0.3) == pytest.approx(0.3)
    assert zero.power(0.2) == pytest.approx(0.2)


@pytest.mark.parametrize("name", SHOWN)
def test_copies(name: str) -> None:
    loss = SHOWN[name]
    loss.delta(0.3)  # whatever was computed must not stand in the way
    assert copy.copy(loss) == loss
    again = pickle.loads(pickle.dumps(loss))
    assert again == loss
    assert again.delta(0.5) == loss.delta(0.5)


def test_asking_in_another_order_gives_the_same_brackets() -> None:
    """Kept intermediate results may change the last digits, never the truth of a bracket."""
    one, other = losses.laplace(2.0) * 5, losses.laplace(2.0) * 5
    places = (0.1, 0.5, 1.0, 1.7)
    forward = [one.delta_bounds(e) for e in places]
    backward = [other.delta_bounds(e) for e in reversed(places)][::-1]
    for a, b in zip(forward, backward, strict=True):
        assert a.lower <= b.upper
        assert b.lower <= a.upper
        assert a.upper == pytest.approx(b.upper, rel=1e-6)


def test_front_door() -> None:
    step = dp.losses.poisson_sampled(dp.losses.gaussian(sigma=1.0), rate=0.01)
    run = step * 1000 + dp.losses.laplace(scale=2.0)
    low, high = run.epsilon_bounds(delta=1e-5)
    assert run.epsilon(delta=1e-5) == high
    assert low <= high
    assert high - low < 1e-5
    assert 0 <= run.delta(epsilon=3.0) <= 1
    assert run.renyi(order=8.0) > 0
    assert 0 < run.tradeoff(alpha=0.05) < 0.95


def test_explain_does_not_stop_at_the_end_of_floats() -> None:
    assert "2.727e347 times" in losses.pure(800.0).explain()
    assert "8.807e4342 times" in losses.pure(1e4).explain()


def test_explain_speaks_of_revealing_outcomes_only_where_there_are_some() -> None:
    text = losses.gaussian(1.0).explain(0.0)
    assert "gives you away" not in text
    assert "no epsilon is promised at delta = 0" in text
    assert "up to 1 % an outcome gives you away" in losses.approx(1.0, 0.01).explain(1e-6)


def test_several_in_one_plot(tmp_path: Path) -> None:
    figure = dp.plot(
        losses.gaussian(2.0), losses.pure(0.5), labels=["one", "two"], path=str(tmp_path / "two.svg")
    )
    assert (tmp_path / "two.svg").stat().st_size > 1000
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two"]
    for wrong in ((), (1.0,), (losses.pure(1.0),) * 33):
        with pytest.raises(dp.errors.InvalidParameter, match=r"plot\(\)"):
            dp.plot(*wrong)  # type: ignore[arg-type]
    for labels in (["one"], "ab", [1, 2], 5, iter(["a", "b"]), ["a", ""], ["a", "\ud800"]):
        with pytest.raises(dp.errors.InvalidParameter, match="labels"):
            dp.plot(losses.pure(1.0), losses.pure(0.5), labels=labels)  # type: ignore[arg-type]


def test_labels_are_drawn_as_they_are(tmp_path: Path) -> None:
    one, two = losses.gaussian(2.0), losses.gaussian(0.01)
    figure = dp.plot(one, two, labels=["_a", r"$\frac{$"], path=str(tmp_path / "odd.png"))
    assert len(figure.legends[0].get_texts()) == 2
    alone = dp.plot(one, labels=["mine"])
    assert alone.get_suptitle() == "mine"


def test_other_neighbours_are_told_apart() -> None:
    step = losses.gaussian(2.0)
    figure = dp.plot(losses.poisson_sampled(step, 0.1), losses.poisson_sampled(step, 0.1, dp.REPLACE_ONE))
    first, second = (text.get_text() for text in figure.legends[0].get_texts())
    assert (first[-16:], second[-13:]) == ("(add/remove one)", "(replace one)")
