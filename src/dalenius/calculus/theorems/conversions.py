"""From one currency of privacy to another: Renyi, zCDP, GDP, bounded range, pure and approximate DP.

A conversion keeps the adjacency of what it is given. A Renyi curve bounds both orders of every pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from dalenius.calculus.theorems.joint_range import excluded
from dalenius.calculus.theorems.numerics import (
    TINY,
    ULP,
    down,
    exp_up,
    lowest,
    numbers,
    product_up,
    smallest,
    terms_up,
    up,
)
from dalenius.core import checks
from dalenius.core.bisection import last_true
from dalenius.errors import InvalidParameter

__all__ = [
    "bounded_range_to_zcdp",
    "delta_at_order",
    "delta_from_renyi",
    "delta_from_tails",
    "epsilon_at_order",
    "epsilon_from_renyi",
    "gdp_to_renyi",
    "gdp_to_zcdp",
    "probability_preservation",
    "pure_to_renyi",
    "pure_to_zcdp",
    "zcdp_group",
    "zcdp_to_delta",
    "zcdp_to_epsilon",
]

Conversion = Literal["simple", "improved", "optimal"]
Curve = Callable[[float], float]
Floats = float | npt.NDArray[Any]

CONVERSIONS: Final = ("simple", "improved", "optimal")

# log(order - 1): from 1e-4, where small epsilons with large deltas live, to 1e8 for tiny zCDP costs.
_LOG_ORDERS: Final = [math.log(10.0) * (-4 + index / 8) for index in range(97)]
_LEAST_LOG: Final = -744.0


def epsilon_at_order(
    order: float, divergence: float, delta: float, conversion: Conversion = "optimal"
) -> float:
    """Epsilon at delta of a release that is (order, divergence)-RDP, rounded up.

    * "simple" (Mironov 2017, Prop 3; Awan 2025, Thm 12.2): divergence + log(1/delta)/(order-1).
    * "improved" (Canonne, Kamath and Steinke 2020, Prop 12; Balle et al. 2020, Thm 21):
      divergence + log(1-1/order) - (log delta + log order)/(order-1).
    * "optimal" (Asoodeh et al. 2021): the least epsilon implied by this one number; a pair of two-point
      distributions attains it. See joint_range.py for the statement and its proof.

    Each is at most the one before. A negative value is returned as 0, since delta(0) <= delta(epsilon < 0).

    Parameters
    ----------
    order
        The Renyi order, above 1.
    divergence
        A bound on the Renyi divergence of that order.
    delta
        The probability of failure, in [0, 1).
    conversion
        'simple', 'improved' or 'optimal', each at most the one before.

    Returns
    -------
    float
        epsilon.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> [round(epsilon_at_order(8.0, 0.1, 0.01, c), 5) for c in ("simple", "improved", "optimal")]
    [0.75788, 0.32729, 0.26156]
    """
    order = checks.order("order", order)
    divergence = checks.nonnegative("divergence", divergence)
    delta = checks.open_probability("delta", delta, "A Renyi bound of finite order never gives delta 0.")
    checks.one_of("conversion", conversion, *CONVERSIONS)
    return _epsilon(conversion, order, divergence, math.log(delta))


def delta_at_order(
    order: float, divergence: float, epsilon: float, conversion: Conversion = "optimal"
) -> float:
    """Delta at epsilon of a release that is (order, divergence)-RDP, rounded up.

    "simple" exp((order-1)(divergence-epsilon)); "improved" the same times (1-1/order)^(order-1)/order, the
    maximum of (1-u)u^(order-1); "optimal" as in :func:`epsilon_at_order`.

    Parameters
    ----------
    order
        The Renyi order, above 1.
    divergence
        A bound on the Renyi divergence of that order.
    epsilon
        The privacy parameter of one step, 0 or more.
    conversion
        'simple', 'improved' or 'optimal', each at most the one before.

    Returns
    -------
    float
        delta.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> [round(delta_at_order(8.0, 0.1, 0.3, c), 5) for c in ("simple", "improved", "optimal")]
    [0.2466, 0.0121, 0.00729]
    """
    order = checks.order("order", order)
    divergence = checks.nonnegative("divergence", divergence)
    epsilon = checks.nonnegative("epsilon", epsilon)
    checks.one_of("conversion", conversion, *CONVERSIONS)
    return _delta(conversion, order, divergence, epsilon)


def epsilon_from_renyi(
    curve: Curve, delta: float, conversion: Conversion = "optimal", orders: Sequence[float] | None = None
) -> float:
    """Epsilon at delta of a release with D_a <= curve(a) for the orders a > 1, rounded up.

    Every order gives a valid epsilon, so the search over orders needs no certificate and is done on a
    grid followed by golden section; with `orders` only those are tried. The curve may return inf where it
    says nothing; if it does so everywhere the answer is inf. Conversions as in :func:`epsilon_at_order`.

    Parameters
    ----------
    curve
        From an order above 1 to a bound on the Renyi divergence.
    delta
        The probability of failure, in [0, 1).
    conversion
        'simple', 'improved' or 'optimal', each at most the one before.
    orders
        The only orders to try; all for None.

    Returns
    -------
    float
        epsilon; inf where the curve says nothing.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(epsilon_from_renyi(lambda a: a / 2, 1e-5, "improved"), 5)
    4.72839
    """
    delta = checks.open_probability("delta", delta, "A Renyi curve of finite orders never gives delta 0.")
    log_delta = math.log(delta)
    return _over_orders(
        lambda kind, order, value: _epsilon(kind, order, value, log_delta), curve, conversion, orders
    )


def delta_from_renyi(
    curve: Curve, epsilon: float, conversion: Conversion = "optimal", orders: Sequence[float] | None = None
) -> float:
    """Delta at epsilon of a release with D_a <= curve(a) for the orders a > 1, rounded up.

    As :func:`epsilon_from_renyi`; "simple" is the moments accountant (Abadi et al. 2016; Awan 2025, Thm 11.2).

    Parameters
    ----------
    curve
        From an order above 1 to a bound on the Renyi divergence.
    epsilon
        The privacy parameter of one step, 0 or more.
    conversion
        'simple', 'improved' or 'optimal', each at most the one before.
    orders
        The only orders to try; all for None.

    Returns
    -------
    float
        delta.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(delta_from_renyi(lambda a: a / 2, 4.0, "simple"), 7)
    0.0021875
    """
    epsilon = checks.nonnegative("epsilon", epsilon)

    # Compare logarithms: deltas below the least float, and above 1, would all look alike.
    def exponent(kind: Conversion, order: float, value: float) -> float:
        if kind != "optimal":
            return _log_delta(kind, order, value, epsilon)
        delta = _delta(kind, order, value, epsilon)
        return -math.inf if delta == 0 else terms_up(math.log(delta))

    least = _over_orders(exponent, curve, conversion, orders)
    return min(1.0, exp_up(least, 0.0)) if least > -math.inf else 0.0


def zcdp_to_epsilon(rho: float, delta: float, method: Literal["simple", "orders"] = "orders") -> float:
    """Epsilon at delta of a rho-zCDP release, rounded up.

    "simple" (Bun and Steinke 2016, Prop 1.3): rho + 2 sqrt(rho log(1/delta)). "orders": the best optimal
    conversion over all orders of the curve rho a, never larger.

    Parameters
    ----------
    rho
        The parameter of zCDP, 0 or more.
    delta
        The probability of failure, in [0, 1).
    method
        'simple' or 'orders'.

    Returns
    -------
    float
        epsilon.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(zcdp_to_epsilon(0.5, 1e-5, "simple"), 5), zcdp_to_epsilon(0.5, 1e-5) < 4.7284
    (5.29853, True)
    """
    rho = checks.nonnegative("rho", rho)
    delta = checks.open_probability("delta", delta, "zCDP never gives delta 0.")
    checks.one_of("method", method, "simple", "orders")
    if rho == 0:
        return 0.0
    simple = terms_up(rho, 2 * math.sqrt(-rho * math.log(delta)))
    return simple if method == "simple" else min(simple, epsilon_from_renyi(lambda a: up(rho * a, 1), delta))


def zcdp_to_delta(rho: float, epsilon: float, method: Literal["simple", "orders"] = "orders") -> float:
    """Delta at epsilon of a rho-zCDP release, rounded up; "simple" is exp(-(epsilon-rho)^2/(4 rho)).

    Parameters
    ----------
    rho
        The parameter of zCDP, 0 or more.
    epsilon
        The privacy parameter of one step, 0 or more.
    method
        'simple' or 'orders'.

    Returns
    -------
    float
        delta.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(zcdp_to_delta(0.5, 4.0, "simple"), 7)
    0.0021875
    """
    rho = checks.nonnegative("rho", rho)
    epsilon = checks.nonnegative("epsilon", epsilon)
    checks.one_of("method", method, "simple", "orders")
    if rho == 0:
        return 0.0
    simple = 1.0
    if epsilon > rho:
        exponent = -((epsilon - rho) ** 2) / (4 * rho)
        # Squaring doubles the relative error of epsilon - rho, an ulp of the larger of the two.
        error = ULP * (8 + 4 * abs(exponent) + (epsilon + rho) * (epsilon - rho) / rho)
        simple = min(1.0, exp_up(exponent, error))
    return simple if method == "simple" else min(simple, delta_from_renyi(lambda a: up(rho * a, 1), epsilon))


def zcdp_group(rho: float, size: int) -> float:
    """zCDP of a group: size^2 rho (Bun and Steinke 2016, Prop 1.9), rounded up.

    Parameters
    ----------
    rho
        The parameter of zCDP, 0 or more.
    size
        How many people, 1 or more.

    Returns
    -------
    float
        rho of the group.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> zcdp_group(0.5, 3)
    4.5
    """
    rho = checks.nonnegative("rho", rho)
    size = checks.count("size", size, 1)
    return product_up(size * size, rho)


def pure_to_zcdp(epsilon: float, method: Literal["tight", "simple"] = "tight") -> float:
    """The rho for which every epsilon-DP release is rho-zCDP, rounded up.

    "simple" (Bun and Steinke 2016, Prop 1.4; Awan 2025, Thm 12.1): epsilon^2/2. "tight": epsilon
    tanh(epsilon/2), the least rho valid for every epsilon-DP release. Proof: such a release
    post-processes randomized response, for which D_a = log(cosh((a-1/2) epsilon)/cosh(epsilon/2))/(a-1).
    With u = (a-1/2)^2, a(a-1) = u - 1/4, so D_a/a is the slope of the chord of
    h(u) = log cosh(epsilon sqrt(u)) from 1/4 to u. h' = epsilon tanh(epsilon sqrt(u))/(2 sqrt(u)) decreases
    (tanh(x)/x does), so h is concave and the slope is largest as a -> 1: h'(1/4) = epsilon tanh(epsilon/2),
    which is the KL divergence.

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    method
        'tight' or 'simple'.

    Returns
    -------
    float
        rho.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(pure_to_zcdp(1.0), 7), pure_to_zcdp(1.0, "simple")
    (0.4621172, 0.5)
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    checks.one_of("method", method, "tight", "simple")
    if method == "simple":
        return checks.float_up(Fraction(epsilon) ** 2 / 2)
    return up(epsilon * math.tanh(epsilon / 2)) if epsilon else 0.0


def pure_to_renyi(epsilon: float, order: float) -> float:
    """The least bound on D_order valid for every epsilon-DP release: that of randomized response, rounded up.

    D_a = log((e^(a epsilon) + e^((1-a) epsilon))/(1 + e^epsilon))/(a-1) (Mironov 2017, Prop 5); a = 1 gives
    epsilon tanh(epsilon/2) and a = inf gives epsilon. It never exceeds min(a epsilon^2/2, epsilon)
    (Awan 2025, Thm 12.1; proof in :func:`pure_to_zcdp`).

    Parameters
    ----------
    epsilon
        The privacy parameter of one step, 0 or more.
    order
        From 1 to inf.

    Returns
    -------
    float
        The divergence.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> round(pure_to_renyi(1.0, 2.0), 7), round(pure_to_renyi(0.5, 2.0), 7)
    (0.7353257, 0.2273363)
    """
    epsilon = checks.nonnegative("epsilon", epsilon)
    if order == math.inf:
        return epsilon
    order = checks.within("order", order, "a number, 1 or more (inf included)", lambda x: x >= 1)
    if epsilon == 0:
        return 0.0
    if order == 1:
        return pure_to_zcdp(epsilon)
    return min(epsilon, up(float(pure_log_mgf(epsilon, order - 1)) / (order - 1), 16))


def pure_log_mgf(epsilon: Floats, s: Floats) -> Floats:
    """(order - 1) D_order of randomized response at the order 1 + s, to a few roundings of itself.

    log(cosh(b + d)/cosh(b)) = log(cosh d + tanh(b) sinh d), b = epsilon/2, d = s epsilon: no difference of large logs.
    """
    half, d = np.tanh(np.divide(epsilon, 2)), np.multiply(s, epsilon)
    small = np.minimum(d, 1.0)
    near = np.log1p(2 * np.sinh(small / 2) ** 2 + half * np.sinh(small))
    far = d + np.log((1 + half + (1 - half) * np.exp(-2 * np.maximum(d, 1.0))) / 2)
    return np.asarray(np.where(d < 1.0, near, far))


def gdp_to_zcdp(mu: float) -> float:
    """A mu-GDP release is (mu^2/2)-zCDP (Dong, Roth and Su 2022, Cor B.6; Awan 2025, Cor 13.1), rounded up.

    Parameters
    ----------
    mu
        The parameter of Gaussian differential privacy, 0 or more.

    Returns
    -------
    float
        rho.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> gdp_to_zcdp(2.0)
    2.0
    """
    mu = checks.nonnegative("mu", mu)
    return checks.float_up(Fraction(mu) ** 2 / 2)


def gdp_to_renyi(mu: float, order: float) -> float:
    """A mu-GDP release has D_order <= order mu^2/2 (Awan 2025, Prop 12.2, Cor 13.1), rounded up.

    Parameters
    ----------
    mu
        The parameter of Gaussian differential privacy, 0 or more.
    order
        The Renyi order, above 1.

    Returns
    -------
    float
        The divergence.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> gdp_to_renyi(0.5, 10.0)
    1.25
    """
    mu = checks.nonnegative("mu", mu)
    order = checks.within("order", order, "a finite number, 1 or more", lambda x: x >= 1)
    return checks.float_up(Fraction(order) * Fraction(mu) ** 2 / 2)


def bounded_range_to_zcdp(eta: float) -> float:
    """A release of bounded range eta is (eta^2/8)-zCDP (Cesar and Rogers 2021, Lemma 3.4), rounded up.

    Bounded range: for each pair of neighbours the loss lies in some interval of length eta. The exponential
    mechanism with epsilon has eta = epsilon; any epsilon-DP release has eta <= 2 epsilon. Also eta-DP.

    Parameters
    ----------
    eta
        The range of the privacy loss.

    Returns
    -------
    float
        rho.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> bounded_range_to_zcdp(2.0)
    0.5
    """
    eta = checks.nonnegative("eta", eta)
    return checks.float_up(Fraction(eta) ** 2 / 8)


def probability_preservation(probability: float, order: float, divergence: float) -> tuple[float, float]:
    """(lower, upper) on P(S) when P'(S) = `probability` and both orders of D_order are <= divergence.

    Proposition (Langlois, Stehle and Steinfeld 2014; Mironov 2017, Prop 10; Awan 2025, Prop 12.1):
    e^(-r) P'(S)^(a/(a-1)) <= P(S) <= (e^r P'(S))^((a-1)/a). Rounded outward.

    Parameters
    ----------
    probability
        The probability of an event under one neighbour.
    order
        The Renyi order, above 1.
    divergence
        A bound on the Renyi divergence of that order.

    Returns
    -------
    tuple of float
        (lower, upper).

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> [round(x, 4) for x in probability_preservation(0.2689414, 2.0, 0.7353257)]
    [0.0347, 0.749]
    """
    probability = checks.probability("probability", probability)
    order = checks.order("order", order)
    divergence = checks.nonnegative("divergence", divergence)
    if probability == 0:
        return 0.0, 0.0
    log_p = math.log(probability)
    lower = -divergence + log_p * (order / (order - 1))
    upper = (divergence + log_p) * ((order - 1) / order)
    error = 16 * ULP * (1 + divergence - log_p * order / (order - 1))
    return max(0.0, down(math.exp(max(lower - error, -800.0)))), min(1.0, exp_up(upper, error))


def delta_from_tails(tails: Iterable[float]) -> float:
    """Delta at epsilon from the probabilities Pr[L >= epsilon], one for each ordered pair of neighbours.

    Lemma (Awan 2025, Lemma 6): if every ordered pair has Pr[L >= epsilon] <= delta then the
    release is (epsilon, delta)-DP. Both directions of each pair must be given. Crude by design: the exact
    delta is E[(1 - e^(epsilon - L))_+].

    Parameters
    ----------
    tails
        One probability for each ordered pair of neighbours.

    Returns
    -------
    float
        The largest of them.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.

    Examples
    --------
    >>> delta_from_tails([1e-6, 2e-6])
    2e-06
    """
    values = numbers("tails", tails, checks.probability)
    if len(values) < 2:
        raise InvalidParameter(
            f"{len(values)} tails were given; give at least two, since each direction of a pair has its own."
        )
    return max(values)


def _over_orders(
    price: Callable[[Conversion, float, float], float],
    curve: Curve,
    conversion: Conversion,
    orders: Sequence[float] | None,
) -> float:
    checks.one_of("conversion", conversion, *CONVERSIONS)
    if orders is not None:
        listed = [checks.order("order", order) for order in orders]
        if not listed:
            raise InvalidParameter("orders is empty; give at least one order above 1.")
        return min(_priced(price, curve, conversion, order) for order in listed)

    def at(kind: Conversion) -> Callable[[float], float]:
        return lambda log_order: _priced(price, curve, kind, 1 + math.exp(log_order))

    cheap: Conversion = "simple" if conversion == "simple" else "improved"
    where, value = lowest(at(cheap), _LOG_ORDERS)
    if conversion != "optimal":
        return value
    # The optimal conversion moves the best order: search again around the improved one.
    around = [where + 0.5 * step for step in range(-8, 9)]
    return min(value, lowest(at("optimal"), around, 1e-4)[1])


def _priced(
    price: Callable[[Conversion, float, float], float], curve: Curve, conversion: Conversion, order: float
) -> float:
    try:
        value = float(curve(order))
    except OverflowError:
        return math.inf
    if math.isnan(value) or value < 0:
        raise InvalidParameter(
            f"the Renyi curve is {value} at order {order}; it must be 0 or more, inf where unknown."
        )
    return math.inf if value == math.inf else price(conversion, order, value)


def _epsilon(conversion: Conversion, order: float, divergence: float, log_delta: float) -> float:
    above = order - 1
    if conversion == "simple":
        return terms_up(divergence, -log_delta / above)
    improved = terms_up(divergence, math.log1p(-1 / order), -log_delta / above, -math.log(order) / above)
    improved = max(0.0, improved)
    if conversion == "improved" or improved == 0 or divergence == 0:
        return 0.0 if divergence == 0 else improved

    def private(epsilon: float) -> bool:
        return excluded(log_delta, epsilon, order, divergence)

    if private(0.0):
        return 0.0
    return smallest(private, 0.0, improved) if private(improved) else improved


def _log_delta(conversion: Conversion, order: float, divergence: float, epsilon: float) -> float:
    above = order - 1
    # divergence - epsilon is rounded once; the products carry the rest.
    terms = [above * divergence, -above * epsilon]
    if conversion != "simple":
        terms += [above * math.log1p(-1 / order), -math.log(order)]
    return terms_up(*terms)


def _delta(conversion: Conversion, order: float, divergence: float, epsilon: float) -> float:
    if divergence == 0:
        return 0.0
    exponent = _log_delta(conversion, order, divergence, epsilon)
    bound = min(1.0, exp_up(exponent, 0.0))
    if conversion != "optimal" or bound <= TINY or exponent < _LEAST_LOG:
        return bound

    def private(below: float) -> bool:
        return excluded(-below, epsilon, order, divergence)

    # Bisect on -log(delta), keeping the largest value seen to be safe.
    low = max(0.0, -exponent)
    if not private(low):
        return bound
    low, _ = last_true(private, low, 760.0)
    return min(bound, exp_up(-low, 2 * ULP * (1 + low)))
