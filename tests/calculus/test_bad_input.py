"""What is refused, and that the refusal says what was given, what is allowed and what to do."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dalenius as dp
from dalenius import losses
from dalenius.errors import (
    AdjacencyMismatch,
    CannotMeet,
    InvalidParameter,
    NotMonotone,
    UnsupportedComposition,
)

NAN, INF = math.nan, math.inf
PROMISES = (dp.PureDP(1.0), dp.ApproxDP(1.0, 1e-6), dp.ZCDP(0.5), dp.GDP(1.0), dp.RDP(2.0, 1.0))
GAUSS = losses.gaussian(1.0)
REPLACED = losses.gaussian(1.0, adjacency=dp.REPLACE_ONE)


def refused(call: Callable[[], Any], *words: str, error: type[ValueError] = InvalidParameter) -> str:
    """The call raises this ValueError and its message has all the words."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    for word in words:
        assert word in message, message
    assert message.endswith((".", "?"))
    return message


NOT_NUMBERS = [NAN, INF, -INF, "1", b"1", None, True, [1.0], 1j, dp.ADD_REMOVE]
NOT_POSITIVE = [*NOT_NUMBERS, 0, 0.0, -1.0, -1e-300]
NEGATIVE = [*NOT_NUMBERS, -1.0, -1e-300]
NOT_SHARES = [*NEGATIVE, 1.0000001, 2]
NOT_DELTAS = [*NEGATIVE, 1.0, 1.5]
NOT_COUNTS = [NAN, INF, "2", None, True, 1.5, -1]

CALLS: list[tuple[str, str, Callable[[Any], Any], list[Any]]] = [
    # (parameter as named in the message, what is allowed, call, refused values)
    ("sigma", "above 0", lambda x: losses.gaussian(x), NOT_POSITIVE),
    ("sensitivity", "above 0", lambda x: losses.gaussian(1.0, x), NOT_POSITIVE),
    ("scale", "above 0", lambda x: losses.laplace(x), NOT_POSITIVE),
    ("sensitivity", "above 0", lambda x: losses.laplace(1.0, x), NOT_POSITIVE),
    ("scale", "above 0", lambda x: losses.geometric(x), NOT_POSITIVE),
    ("sensitivity", "whole number", lambda x: losses.geometric(1.0, x), [*NOT_COUNTS, 0]),
    ("sigma", "above 0", lambda x: losses.discrete_gaussian(x), NOT_POSITIVE),
    ("sensitivity", "whole number", lambda x: losses.discrete_gaussian(1.0, x), [*NOT_COUNTS, 0]),
    ("epsilon", "0 or more", lambda x: losses.pure(x), NEGATIVE),
    ("epsilon", "0 or more", lambda x: losses.approx(x, 0.1), NEGATIVE),
    ("delta", "[0, 1)", lambda x: losses.approx(1.0, x), NOT_DELTAS),
    ("epsilon", "0 or more", lambda x: losses.randomized_response(x), NEGATIVE),
    ("k", "whole number, 2 or more", lambda x: losses.randomized_response(1.0, x), [*NOT_COUNTS, 0, 1]),
    ("eta", "0 or more", lambda x: losses.bounded_range(x), NEGATIVE),
    ("rho", "0 or more", lambda x: losses.zcdp(x), NEGATIVE),
    ("mu", "0 or more", lambda x: losses.gdp(x), NEGATIVE),
    ("sigma", "above 0", lambda x: losses.objective_perturbation(x, 20, 1, 1), NOT_POSITIVE),
    ("ridge", "above 0", lambda x: losses.objective_perturbation(5, x, 1, 1), NOT_POSITIVE),
    ("gradient_bound", "above 0", lambda x: losses.objective_perturbation(5, 20, x, 1), NOT_POSITIVE),
    ("smoothness", "0 or more", lambda x: losses.objective_perturbation(5, 20, 1, x), NEGATIVE),
    (
        "dimension",
        "whole number",
        lambda x: losses.objective_perturbation(5, 20, 1, 1, dimension=x),
        [x for x in NOT_COUNTS if x is not None] + [0],
    ),
    ("tolerance", "0 or more", lambda x: losses.approximate_minima(5, 20, 1, 1, x, 0.15), NEGATIVE),
    ("output_sigma", "above 0", lambda x: losses.approximate_minima(5, 20, 1, 1, 0.01, x), NOT_POSITIVE),
    ("rate", "[0, 1]", lambda x: losses.poisson_sampled(GAUSS, x), NOT_SHARES),
    ("p", "[0, 1]", lambda x: losses.cp(REPLACED, x), NOT_SHARES),
    ("m", "whole number", lambda x: losses.sampled_without_replacement(REPLACED, x, 10), NOT_COUNTS),
    ("n", "whole number", lambda x: losses.sampled_without_replacement(REPLACED, 1, x), [*NOT_COUNTS, 0]),
    ("size", "whole number, 1 or more", lambda x: losses.group(GAUSS, x), [*NOT_COUNTS, 0]),
    ("repetitions", "whole number", lambda x: GAUSS * x, NOT_COUNTS),
    ("epsilon", "finite number", lambda x: GAUSS.delta(x), NOT_NUMBERS),
    ("epsilon", "finite number", lambda x: GAUSS.delta_bounds(x), NOT_NUMBERS),
    ("delta", "[0, 1)", lambda x: GAUSS.epsilon(x), NOT_DELTAS),
    ("delta", "[0, 1)", lambda x: GAUSS.epsilon_bounds(x), NOT_DELTAS),
    ("order", "from 1 up", lambda x: GAUSS.renyi(x), [NAN, -INF, "2", None, True, 0.5, -1.0]),
    ("alpha", "[0, 1]", lambda x: GAUSS.tradeoff(x), NOT_SHARES),
    ("level", "[0, 1]", lambda x: GAUSS.power(x), NOT_SHARES),
    ("prior", "[0, 1]", lambda x: GAUSS.posterior(x), NOT_SHARES),
    ("delta", "[0, 1)", lambda x: GAUSS.posterior(0.5, x), NOT_DELTAS),
    ("delta", "[0, 1)", lambda x: GAUSS.tail(x), NOT_DELTAS),
    ("delta", "[0, 1)", lambda x: GAUSS.explain(x), NOT_DELTAS),
    ("epsilon", "0 or more", lambda x: dp.PureDP(x), NEGATIVE),
    ("epsilon", "0 or more", lambda x: dp.ApproxDP(x, 0.1), NEGATIVE),
    ("delta", "[0, 1)", lambda x: dp.ApproxDP(1.0, x), NOT_DELTAS),
    ("rho", "0 or more", lambda x: dp.ZCDP(x), NEGATIVE),
    ("order", "above 1", lambda x: dp.RDP(x, 1.0), [*NOT_NUMBERS, 1.0, 0.5]),
    ("epsilon", "0 or more", lambda x: dp.RDP(2.0, x), NEGATIVE),
    ("mu", "0 or more", lambda x: dp.GDP(x), NEGATIVE),
    *(("parts", "above 0", promise.divided, NOT_POSITIVE) for promise in PROMISES),
    *(("share", "above 0", promise.noisier, NOT_POSITIVE) for promise in PROMISES),
]


def shown(value: Any) -> str:
    """How the message must quote the value: as given, or as the number it is."""
    return (
        repr(float(value)) if isinstance(value, int | float) and not isinstance(value, bool) else repr(value)
    )


@pytest.mark.parametrize(
    ("name", "allowed", "call", "value"),
    [
        pytest.param(name, allowed, call, value, id=f"{i}-{name}-{value!r}")
        for i, (name, allowed, call, values) in enumerate(CALLS)
        for value in values
    ],
)
def test_refused_numbers(name: str, allowed: str, call: Callable[[Any], Any], value: Any) -> None:
    message = refused(lambda: call(value), name, allowed)
    assert shown(value) in message or repr(value) in message, message
    assert " must be " in message


def test_scales_of_zero_say_why() -> None:
    refused(lambda: losses.gaussian(0.0), "sigma is 0.0", "hides nothing")
    refused(lambda: losses.laplace(0.0), "scale is 0.0", "hides nothing")
    refused(lambda: losses.objective_perturbation(0.0, 1, 1, 0), "sigma is 0.0", "not private")


def test_whole_floats_are_counts() -> None:
    assert GAUSS * 3.0 == GAUSS * 3
    assert losses.group(GAUSS, 2.0) == losses.group(GAUSS, 2)
    refused(lambda: GAUSS * 2.5, "2.5", "whole number")


# -- lists and functions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "q", "words"),
    [
        ([0.5, 0.6], [0.5, 0.5], ("p sums to 1.1", "must sum to 1")),
        ([0.5, 0.5], [0.5, 0.4], ("q sums to 0.9", "must sum to 1")),
        ([1.5, -0.5], [0.5, 0.5], ("p ", "negative", "between 0 and 1")),
        ([0.5, 0.5], [NAN, 1.0], ("q ", "non-finite")),
        ([0.5, 0.5], [INF, 1.0], ("q ", "non-finite")),
        ([0.5, 0.5], [1.0], ("2 outcomes", "1;", "same order")),
        ([], [], ("p ", "non-empty")),
        ([[0.5], [0.5]], [0.5, 0.5], ("p ", "shape")),
        ("ab", [0.5, 0.5], ("p ", "probabilities")),
        (None, [0.5, 0.5], ("p ", "probabilities")),
        ([0.5, "x"], [0.5, 0.5], ("p ", "probabilities")),
    ],
)
def test_refused_pairs(p: Any, q: Any, words: tuple[str, ...]) -> None:
    refused(lambda: losses.from_pair(p, q), *words)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (0.3, ("f is 0.3", "function")),
        (None, ("f is None", "function")),
        (lambda a: 1.2 - a, ("exceeds 1 -",)),
        (lambda a: 0.05 if 0.6 < a < 0.9 else max(0.0, 0.5 - 2 * a), ("increases",)),
        (lambda a: (1 - a) * 0.9 if a < 0.5 else 0.0, ("not convex", "convex hull")),
        (lambda a: -0.1 if a > 0.9 else 1 - a, ("negative",)),
        (lambda a: NAN, ("non-finite",)),
        (lambda a: "x", ("failed", "every level")),
    ],
)
def test_refused_tradeoffs(f: Any, words: tuple[str, ...]) -> None:
    refused(lambda: losses.from_tradeoff(f), *words)
    refused(lambda: dp.TradeOff(f), *words)


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (0.3, ("curve is 0.3", "function")),
        (lambda order: -1.0, ("curve(1.5) is -1.0", "0 or more")),
        (lambda order: NAN, ("curve(1.5) is nan",)),
        (lambda order: "x", ("curve(1.5) is 'x'",)),
        (lambda order: None, ("curve(1.5) is None",)),
    ],
)
def test_refused_renyi_curves(curve: Any, words: tuple[str, ...]) -> None:
    refused(lambda: losses.rdp(curve), *words)


# -- adjacency -------------------------------------------------------------------------------------

ELEMENTARY: list[Callable[[Any], Any]] = [
    lambda a: losses.pure(1.0, adjacency=a),
    lambda a: losses.approx(1.0, 0.1, adjacency=a),
    lambda a: losses.randomized_response(1.0, adjacency=a),
    lambda a: losses.laplace(1.0, adjacency=a),
    lambda a: losses.geometric(1.0, adjacency=a),
    lambda a: losses.gaussian(1.0, adjacency=a),
    lambda a: losses.discrete_gaussian(1.0, adjacency=a),
    lambda a: losses.bounded_range(1.0, adjacency=a),
    lambda a: losses.zcdp(1.0, adjacency=a),
    lambda a: losses.gdp(1.0, adjacency=a),
    lambda a: losses.rdp(lambda order: order, adjacency=a),
    lambda a: losses.from_pair([1.0], [1.0], adjacency=a),
]


@pytest.mark.parametrize("make", ELEMENTARY)
def test_adjacency_is_one_of_two(make: Callable[[Any], Any]) -> None:
    assert make(dp.REPLACE_ONE).adjacency is dp.REPLACE_ONE
    for wrong in ("add_remove", None, 1, dp.Adjacency):
        refused(lambda wrong=wrong: make(wrong), "adjacency", "ADD_REMOVE", "REPLACE_ONE")


@pytest.mark.parametrize("make", ELEMENTARY)
def test_zero_losses_keep_the_check(make: Callable[[Any], Any]) -> None:
    refused(lambda: losses.pure(0.0, adjacency="both"), "adjacency")
    assert losses.pure(0.0, adjacency=dp.REPLACE_ONE).adjacency is dp.REPLACE_ONE


def test_mixed_adjacencies() -> None:
    message = refused(lambda: GAUSS + REPLACED, "add/remove", "replace one", error=AdjacencyMismatch)
    assert "to_replace_one" in message
    refused(lambda: sum([GAUSS, REPLACED]), error=AdjacencyMismatch)
    refused(
        lambda: losses.poisson_sampled(REPLACED, 0.1), "sampled_without_replacement", error=AdjacencyMismatch
    )
    refused(lambda: losses.cp(GAUSS, 0.1), "REPLACE_ONE", "poisson_sampled", error=AdjacencyMismatch)
    refused(lambda: losses.sampled_without_replacement(GAUSS, 1, 2), error=AdjacencyMismatch)
    refused(lambda: losses.parallel(REPLACED, REPLACED), "ADD_REMOVE", error=AdjacencyMismatch)
    refused(lambda: losses.to_adjacency(REPLACED, dp.ADD_REMOVE), "how many records", error=AdjacencyMismatch)
    assert losses.to_adjacency(GAUSS, dp.REPLACE_ONE) + REPLACED == losses.to_replace_one(GAUSS) + REPLACED


# -- structure -------------------------------------------------------------------------------------


def test_other_refusals() -> None:
    refused(
        lambda: losses.objective_perturbation(5, 1.0, 1, 1.0), "ridge is 1.0", "ridge > smoothness", "Raise"
    )
    refused(lambda: losses.sampled_without_replacement(REPLACED, 11, 10), "m is 11", "n is 10", "order")
    refused(lambda: losses.parallel(), "at least one")
    refused(lambda: losses.parallel(GAUSS, 1.0), "1.0", "losses")
    refused(lambda: losses.discrete_gaussian(1e6), "sigma is 1000000.0", "1e5", "coarser")
    refused(lambda: losses.group(losses.bounded_range(0.1), 100), "100", "64", error=UnsupportedComposition)
    refused(lambda: GAUSS.delta_bounds(1.0, engine="fast"), "engine is 'fast'", "'grid'")
    refused(lambda: GAUSS.epsilon_bounds(1e-5, engine=None), "engine is None", "'auto'")


@pytest.mark.parametrize(
    "call",
    [
        lambda x: losses.poisson_sampled(x, 0.1),
        lambda x: losses.cp(x, 0.1),
        lambda x: losses.sampled_without_replacement(x, 1, 2),
        lambda x: losses.group(x, 2),
        lambda x: losses.to_replace_one(x),
        lambda x: losses.to_adjacency(x, dp.REPLACE_ONE),
        lambda x: losses.parallel(x),
    ],
)
def test_only_losses_are_transformed(call: Callable[[Any], Any]) -> None:
    """A guarantee or a number where a loss belongs is an InvalidParameter, not an AttributeError."""
    for value in (None, 1.0, "gaussian(1)", dp.GDP(1.0)):
        refused(lambda value=value: call(value), repr(value))


def test_adding_something_else() -> None:
    for other in (1, 1.0, None, "gaussian(1)", dp.GDP(1.0)):
        with pytest.raises(TypeError):
            GAUSS + other


def test_to_adjacency_checks_its_target() -> None:
    refused(lambda: losses.to_adjacency(GAUSS, "replace one"), "adjacency", "REPLACE_ONE")


# -- calibration -----------------------------------------------------------------------------------


@pytest.fixture
def impatience() -> Iterator[None]:
    """Ends a test that would never end; signals reach the main thread, where pytest runs it."""

    def stop(*_: object) -> None:
        raise TimeoutError("still running after ten seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("start", [0.0, -1.0, NAN, INF, "1", None, True], ids=repr)
@pytest.mark.usefixtures("impatience")
def test_calibrate_refuses_a_start(start: Any) -> None:
    refused(lambda: dp.calibrate(losses.gaussian, dp.ApproxDP(1.0, 1e-5), start=start), "start", "above 0")


def test_calibrate_refuses() -> None:
    target = dp.ApproxDP(1.0, 1e-5)
    refused(lambda: dp.calibrate(None, target), "family is None", "function")
    refused(lambda: dp.calibrate(losses.gaussian, 1.0), "guarantee is 1.0", "ApproxDP")
    refused(lambda: dp.calibrate(losses.gaussian, dp.ApproxDP), "guarantee is", "ApproxDP")
    refused(lambda: dp.calibrate(lambda s: s, target), "family(", "must be a loss")


def test_family_that_turns_around() -> None:
    refused(
        lambda: dp.calibrate(lambda x: losses.gaussian(1 + (math.log(x)) ** 2), dp.ApproxDP(1.0, 1e-5)),
        "up and down",
        error=NotMonotone,
    )


def test_promise_that_cannot_be_kept() -> None:
    message = refused(
        lambda: dp.calibrate(lambda s: losses.laplace(s) + losses.approx(0.1, 1e-3), dp.ApproxDP(1.0, 1e-5)),
        "ApproxDP(epsilon=1.0, delta=1e-05)",
        error=CannotMeet,
    )
    assert "does not depend on the parameter" in message
    refused(lambda: dp.calibrate(losses.gaussian, dp.PureDP(1.0)), "PureDP", error=CannotMeet)
    refused(lambda: dp.calibrate(lambda s: GAUSS, dp.PureDP(1.0)), error=CannotMeet)
    message = refused(lambda: dp.calibrate(lambda s: losses.pure(0.1), dp.PureDP(1.0)), error=CannotMeet)
    assert "nothing to calibrate" in message


def test_every_error_is_a_value_error() -> None:
    for error in (InvalidParameter, AdjacencyMismatch, NotMonotone, CannotMeet, UnsupportedComposition):
        assert issubclass(error, InvalidParameter)
        assert issubclass(error, ValueError)
        assert error.__doc__
