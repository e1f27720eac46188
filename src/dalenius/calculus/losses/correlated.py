"""Gaussian noise that is correlated from step to step: matrix mechanisms for sums that keep growing, as in DP-FTRL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss, call
from dalenius.calculus.losses.sampling import poisson_sampled
from dalenius.calculus.pairs.atoms import Atoms
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.gaussian import GaussianPair
from dalenius.calculus.pairs.pair import Pair
from dalenius.calculus.participation.dense import LARGEST, SMALLEST, dense_squares
from dalenius.calculus.participation.schedule import Schedule, Squares
from dalenius.calculus.participation.square_root import square_root
from dalenius.calculus.participation.toeplitz import squared, toeplitz_squares, whole
from dalenius.calculus.participation.tree import tree_squares
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter

MOST_COLUMNS, MOST_ROWS = 2048, 8192
"""Of a strategy that is written out."""
MOST_SHOWN = 64
"""Entries of a strategy that its text has; of a larger one it has the shape."""

Matrix = Sequence[Sequence[float]] | np.ndarray


def matrix_gaussian(
    sigma: float,
    strategy: Matrix,
    participations: int = 1,
    separation: int = 1,
    epoch: int | None = None,
    clip: float = 1.0,
    adjacency: Adjacency = ADD_REMOVE,
) -> Loss:
    """Loss of a matrix mechanism: A x + B Z with A = B C and Z ~ N(0, sigma^2), for a strategy matrix C.

    Row t of x is the sum of what records contribute in step t, each at most `clip` long in l2 norm, and all that is
    ever released is worked out from C x + Z, whatever B is. How far a record moves C x is computed from C: the
    largest sum over s, t of |(C'C)_st| over all patterns of steps that a record may take part in, rounded up
    (Choquette-Choo, McMahan, Rush and Thakurta 2023, "Multi-epoch matrix factorization mechanisms"; proofs in
    docs/proofs/correlated-noise.md). Where entries of C'C are negative, or the worst of very many patterns is not
    known, it is an upper bound, and the lower bounds of the loss are those of the worst pattern found.

    What records contribute may depend on what was released before (gradients do), if the rows of C can be put in an
    order in which each is complete before the next one starts to depend on later steps: lower triangular matrices and
    trees.

    With REPLACE_ONE a record leaves and another one enters, in steps of its own: twice as far.

    Parameters
    ----------
    sigma
        The standard deviation of the noise Z, above 0.
    strategy
        C: a matrix with a column for every step, 2048 at most, and 8192 rows at most.
    participations
        In how many steps one record takes part at most.
    separation
        How many steps apart any two of them are at least: 1 if nothing is known.
    epoch
        In place of `separation`: they are a multiple of so many steps apart. Data passed over in one fixed order, again
        and again.
    clip
        The most that one record contributes to a step, in l2 norm.
    adjacency
        The neighbouring relation: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of all steps together.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> import numpy as np
    >>> halves = np.tril([[2.0, 0, 0, 0], [1, 2, 0, 0], [0, 1, 2, 0], [0, 0, 1, 2]])
    >>> once = dp.losses.matrix_gaussian(1.0, halves)
    >>> twice = dp.losses.matrix_gaussian(1.0, halves, participations=2, separation=2)
    >>> round(once.gdp() ** 2, 9), round(twice.gdp() ** 2, 9)
    (5.0, 10.0)
    """
    sigma, clip = _sizes(sigma, clip)
    matrix = _matrix(strategy)
    schedule = Schedule.of(matrix.shape[1], participations, separation, epoch)
    squares = dense_squares(matrix, schedule)
    name = call(
        "matrix_gaussian",
        sigma=sigma,
        strategy=_written(matrix),
        **schedule.words(),
        clip=(clip, 1.0),
        adjacency=adjacency,
    )
    return _loss(name, squares, sigma, clip, adjacency)


def toeplitz_gaussian(
    sigma: float,
    steps: int,
    coefficients: Sequence[float] | None = None,
    bands: int | None = None,
    participations: int = 1,
    separation: int = 1,
    epoch: int | None = None,
    clip: float = 1.0,
    adjacency: Adjacency = ADD_REMOVE,
) -> Loss:
    """Loss of a matrix mechanism whose strategy C is lower triangular Toeplitz: C_ts = c_(t-s).

    As `matrix_gaussian`, for up to 1e6 steps. By default C is the square root of the matrix of prefix sums
    (Fichtenberger, Henzinger and Upadhyay 2023), or the first `bands` diagonals of it (Kalinin and Lampert 2024).
    Whatever is done with the noise afterwards (prefix sums, momentum, decay) changes nothing. The loss is exact if
    c_0 >= c_1 >= ... >= 0, if there are no more coefficients than `separation`, or if `epoch` is given and no
    coefficient is negative.

    Parameters
    ----------
    sigma
        The standard deviation of the noise Z, above 0.
    steps
        How many steps there are, 1e6 at most.
    coefficients
        c_0, c_1, ...; those that are not given are 0.
    bands
        In place of coefficients, how many of the square root are kept.
    participations
        In how many steps one record takes part at most.
    separation
        How many steps apart any two of them are at least.
    epoch
        In place of `separation`: they are a multiple of so many steps apart.
    clip
        The most that one record contributes to a step, in l2 norm.
    adjacency
        The neighbouring relation: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of all steps together.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> once = dp.losses.toeplitz_gaussian(sigma=5.0, steps=1000)
    >>> epochs = dp.losses.toeplitz_gaussian(sigma=5.0, steps=1000, bands=100, participations=4, separation=250)
    >>> round(once.epsilon(1e-6), 4), round(epochs.epsilon(1e-6), 4)
    (1.5808, 2.9419)
    """
    sigma, clip = _sizes(sigma, clip)
    schedule = Schedule.of(steps, participations, separation, epoch)
    column = _column(coefficients, bands, schedule.steps)
    name = call(
        "toeplitz_gaussian",
        sigma=sigma,
        steps=schedule.steps,
        **_shown(coefficients, bands),
        **schedule.words(),
        clip=(clip, 1.0),
        adjacency=adjacency,
    )
    return _loss(name, toeplitz_squares(tuple(column), schedule), sigma, clip, adjacency)


def tree_gaussian(
    sigma: float,
    steps: int,
    branches: int = 2,
    participations: int = 1,
    separation: int = 1,
    epoch: int | None = None,
    clip: float = 1.0,
    adjacency: Adjacency = ADD_REMOVE,
) -> Loss:
    """Loss of tree aggregation: steps are the leaves of a tree, and every node is measured with noise N(0, sigma^2).

    A node is the sum of its leaves, complete when the last of them is there (Dwork, Naor, Pitassi and Rothblum 2010;
    Chan, Shi and Song 2011; for training: Kairouz, McMahan, Song, Thakkar, Thakurta and Xu 2021, DP-FTRL). A step is
    in one node of each level. How estimates are made from the nodes (Honaker 2015) changes nothing. The loss is exact
    for single participation, for `epoch`, and for a `separation` that is a power of `branches`; else it is an upper
    bound.

    Parameters
    ----------
    sigma
        The standard deviation of the noise in each node, above 0.
    steps
        How many steps there are, 1e6 at most.
    branches
        Children of a node, 2 or more.
    participations
        In how many steps one record takes part at most.
    separation
        How many steps apart any two of them are at least.
    epoch
        In place of `separation`: they are a multiple of so many steps apart.
    clip
        The most that one record contributes to a step, in l2 norm.
    adjacency
        The neighbouring relation: `dp.ADD_REMOVE` or `dp.REPLACE_ONE`.

    Returns
    -------
    Loss
        The loss of all steps together.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> round(dp.losses.tree_gaussian(sigma=1.0, steps=1024).gdp() ** 2, 9)
    11.0
    >>> round(dp.losses.tree_gaussian(sigma=1.0, steps=1024, participations=4, separation=256).gdp() ** 2, 9)
    60.0
    """
    sigma, clip = _sizes(sigma, clip)
    schedule = Schedule.of(steps, participations, separation, epoch)
    branches = checks.count("branches", branches, least=2)
    name = call(
        "tree_gaussian",
        sigma=sigma,
        steps=schedule.steps,
        branches=(branches, 2),
        **schedule.words(),
        clip=(clip, 1.0),
        adjacency=adjacency,
    )
    return _loss(name, tree_squares(branches, schedule), sigma, clip, adjacency)


def banded_sampled(
    sigma: float,
    steps: int,
    rate: float,
    coefficients: Sequence[float] | None = None,
    bands: int | None = None,
    groups: int | None = None,
    clip: float = 1.0,
) -> Loss:
    """Loss of a banded Toeplitz matrix mechanism on batches that are sampled: amplification for correlated noise.

    Records are put in `groups` groups, each whatever the others are (by a hash of its id, say), and step t takes a
    Poisson sample of group t mod `groups`: each of its records with probability `rate`, by its own coin. With no more
    bands than groups the columns of C for the steps of one group do not meet, so that a record's turns are releases
    of sampled Gaussian noise one after another, with as many times the noise as the column is long (Choquette-Choo,
    Ganesh, McKenna, McMahan, Rush, Thakurta and Xu 2023, "(Amplified) banded matrix factorization", Theorem 4; proof
    in docs/proofs/correlated-noise.md). Add/remove neighbours. With one coefficient it is DP-SGD. The loss is exact
    for the worst group, which is the first. It holds for this sampler only: amplification of matrices without bands,
    or with other samplers, has been estimated by Monte Carlo, which certifies nothing, and is not offered.

    Parameters
    ----------
    sigma
        The standard deviation of the noise Z, above 0.
    steps
        How many steps there are, 1e6 at most.
    rate
        The probability that a record is in the batch when it is its group's turn, in [0, 1].
    coefficients
        c_0, c_1, ..., no more than `groups`.
    bands
        In place of coefficients, how many of the square root of the matrix of prefix sums are kept.
    groups
        How many groups there are; by default as many as bands.
    clip
        The most that one record contributes to a step, in l2 norm.

    Returns
    -------
    Loss
        The loss of all steps together.

    Raises
    ------
    InvalidParameter
        If a parameter is outside what is allowed; if there are more bands than groups.
    TooLittleNoise
        If the loss would be so large that it promises nothing.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp_sgd = dp.losses.banded_sampled(sigma=1.0, steps=2000, rate=0.01, coefficients=[1.0])
    >>> dp_sgd.epsilon(1e-5) == (dp.losses.poisson_sampled(dp.losses.gaussian(1.0), 0.01) * 2000).epsilon(1e-5)
    True
    >>> round(dp.losses.banded_sampled(sigma=1.5, steps=2000, rate=0.08, bands=8).epsilon(1e-5), 4)
    6.8738
    """
    if coefficients is None and bands is None:
        raise InvalidParameter("banded_sampled lacks the strategy: give `coefficients`, or `bands`.")
    sigma, clip = _sizes(sigma, clip)
    schedule = Schedule.of(steps, 1, 1, None)
    column = _column(coefficients, bands, schedule.steps)
    groups = checks.count("groups", len(column) if groups is None else groups, least=1)
    if groups < len(column):
        raise InvalidParameter.of(
            "groups",
            f"groups is {groups}, and there are {len(column)} bands: a record's turns must be at least as many steps "
            "apart as there are bands. Give more groups or fewer bands.",
        )
    rate, times = checks.probability("rate", rate), -(-schedule.steps // groups)
    entries, unit = whole(column)
    # The last turn of the first group may have fewer rows left. Other groups have no more rows left at any turn.
    last = entries[: schedule.steps - (times - 1) * groups]
    full, cut = (squared(part) * unit**2 for part in (entries, last))
    base = [_gaussian(square, sigma, clip) for square in ([full] * (times > 1) + [cut])]
    total = poisson_sampled(base[-1], rate)
    if times > 1:
        total = poisson_sampled(base[0], rate) * (times - 1) + total
    words = {**_shown(coefficients, bands), "groups": (groups, len(column)), "clip": (clip, 1.0)}
    name = call("banded_sampled", sigma=sigma, steps=schedule.steps, rate=rate, **words)
    return Loss(total.terms_remove, total.terms_add, ADD_REMOVE, name)


def _sizes(sigma: object, clip: object) -> tuple[float, float]:
    return checks.positive("sigma", sigma, "Noise of scale 0 hides nothing."), checks.positive("clip", clip)


def _gaussian(square: Fraction, sigma: float, clip: float) -> Loss:
    return _loss("", Squares(square, square), sigma, clip, ADD_REMOVE)


def _loss(name: str, squares: Squares, sigma: float, clip: float, adjacency: Adjacency) -> Loss:
    """Noise sigma on a move of at most so many clips, squared: exactly, or between two."""
    one = Fraction(1 if checked_adjacency(adjacency) is ADD_REMOVE else 2) * Fraction(clip) / Fraction(sigma)
    low, high = (square * one**2 for square in squares)
    if high == 0:
        return Loss.zero(adjacency)
    checks.moderate("sensitivity / sigma", math.sqrt(checks.float_up(high)))
    pair: Pair = GaussianPair.of_square(high)
    if low < high:
        pair = Bracket(_below(low), pair)
    return Loss.symmetric(pair, adjacency, name)


def _below(square: Fraction) -> Pair:
    """The Gaussian pair with this mu^2, mu rounded down."""
    mu = GaussianPair.of_square(square).mu if square > 0 else 0.0
    while mu > 0 and Fraction(mu) ** 2 > square:
        mu = math.nextafter(mu, 0.0)
    return GaussianPair(mu) if mu > 0 else Atoms(np.zeros(1), np.ones(1))


def _matrix(strategy: Matrix) -> np.ndarray:
    try:
        matrix = np.array(strategy, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter.of("strategy", "strategy must be a matrix of numbers.") from None
    if matrix.ndim != 2 or matrix.size == 0:
        raise InvalidParameter.of(
            "strategy", "strategy must be a matrix: rows of numbers, a column for every step."
        )
    if matrix.shape[1] > MOST_COLUMNS or matrix.shape[0] > MOST_ROWS:
        raise InvalidParameter.of(
            "strategy",
            f"strategy has {matrix.shape[1]} columns and {matrix.shape[0]} rows; at most {MOST_COLUMNS} and "
            f"{MOST_ROWS} are taken. For more steps use losses.toeplitz_gaussian or losses.tree_gaussian.",
        )
    sizes = np.abs(matrix[matrix != 0])
    if not np.isfinite(matrix).all() or (sizes > LARGEST).any() or (sizes < SMALLEST).any():
        raise InvalidParameter.of(
            "strategy", f"entries of strategy must be 0, or from {SMALLEST} to {LARGEST} in size."
        )
    return matrix


def _written(matrix: Reals) -> str:
    if matrix.size > MOST_SHOWN:
        return "x".join(map(str, matrix.shape))
    rows = (", ".join(f"{entry:.12g}" for entry in row) for row in matrix.tolist())
    return f"[{', '.join(f'[{row}]' for row in rows)}]"


def _column(coefficients: object, bands: int | None, steps: int) -> list[float]:
    if coefficients is None:
        count = steps if bands is None else checks.count("bands", bands, least=1)
        return square_root(min(count, steps))
    if bands is not None:
        raise InvalidParameter.of("bands", "give `coefficients` or `bands`, not both.")
    if isinstance(coefficients, str) or not isinstance(coefficients, Sequence | np.ndarray):
        raise InvalidParameter.of("coefficients", "coefficients must be a list of numbers.")
    column = [checks.number("coefficients", c) for c in list(coefficients)[:steps]]
    sizes = [abs(c) for c in column if c != 0]
    if not sizes or max(sizes) > LARGEST or min(sizes) < SMALLEST:
        raise InvalidParameter.of(
            "coefficients",
            f"coefficients must be 0, or from {SMALLEST} to {LARGEST} in size, and not all 0.",
        )
    return column


def _shown(coefficients: Sequence[float] | None, bands: int | None) -> dict[str, Any]:
    if coefficients is None:
        return {"bands": (bands, None)}
    texts = [f"{float(c):.12g}" for c in coefficients]
    return {"coefficients": f"[{', '.join(texts if len(texts) <= 8 else [*texts[:6], '...'])}]"}
