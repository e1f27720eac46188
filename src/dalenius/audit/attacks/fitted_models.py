"""Who was a fitted model trained on? (Yeom et al. 2018; Carlini et al. 2022)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalenius.audit.attacks.membership import Membership
from dalenius.audit.attacks.queries import random_bits
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter

Fit = Callable[[Any, Any], Any]
"""How well a fitted model fits each row, from X and y: minus its loss, or log(p/(1 - p)) of the true class."""
LEAST_SPREAD = 1e-6
"""Standard deviations of shadow models are at least this share of the spread of all."""


def loss_threshold(fit: Fit, X: Any, y: Any, inside: Any = None) -> Membership:
    """Rows that a model fits well are said to be those it was trained on (Yeom et al. 2018).

    Parameters
    ----------
    fit
        How well the model fits each row, as a function of X and y: minus its loss, say.
    X
        The candidates' features.
    y
        The candidates' targets.
    inside
        Who was trained on, to say how good the attack is.

    Returns
    -------
    Membership
        The scores.

    Raises
    ------
    InvalidParameter
        If `fit` does not return a number for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.audit.attacks import loss_threshold
    >>> known = {1.0, 2.0, 3.0}
    >>> memory = lambda X, y: [float(value in known) for value in y]
    >>> loss_threshold(memory, None, np.arange(6.0), inside=[0, 1, 1, 1, 0, 0]).power(0.0)
    1.0
    """
    return Membership(_each(fit, X, y), inside, "the loss threshold")


def likelihood_ratio(
    fit: Fit, X: Any, y: Any, train: Callable[[Any, Any], Fit], inside: Any = None, shadows: int = 32
) -> Membership:
    """How much likelier the model's fit of each row is if it was trained on it (Carlini et al. 2022).

    Shadow models are trained on halves of the candidates, each row in a half by a fair coin; a normal law is fitted
    to how well those with a row and those without it fit that row, and the score is the logarithm of their ratio at
    the fit of the model under attack.

    Parameters
    ----------
    fit
        How well the model under attack fits each row, as a function of X and y.
    X
        The candidates' features, an array with a line for each.
    y
        The candidates' targets.
    train
        Trains a model as the one under attack was, from X and y, and returns its `fit`.
    inside
        Who was trained on, to say how good the attack is.
    shadows
        How many models are trained.

    Returns
    -------
    Membership
        The scores.

    Raises
    ------
    InvalidParameter
        If there are fewer than 4 shadow models, or a fit is not a number for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from dalenius.audit.attacks import likelihood_ratio, random_bits
    >>> y = np.random.default_rng(0).normal(size=200)
    >>> mean = lambda X, y: (lambda centre: lambda A, b: -np.abs(b - centre))(y.mean())
    >>> inside = random_bits(200)
    >>> likelihood_ratio(mean(y, y[inside]), y, y, mean, inside).scores.shape
    (200,)
    """
    shadows = checks.count("shadows", shadows, 4)
    X, y = np.asarray(X), np.asarray(y)
    observed = _each(fit, X, y)
    n = len(observed)
    # Every row is in half of the shadow models, so that both laws can be fitted.
    inside_shadow = np.empty((shadows, n), dtype=np.bool_)
    half = shadows // 2
    inside_shadow[:half] = random_bits(half, n)
    inside_shadow[half : 2 * half] = ~inside_shadow[:half]
    inside_shadow[2 * half :] = random_bits(shadows - 2 * half, n)
    fits = np.array([_each(train(X[chosen], y[chosen]), X, y) for chosen in inside_shadow])
    least = max(LEAST_SPREAD * float(fits.std()), 1e-300)
    scores = np.zeros(n)
    for sign, those in ((1.0, inside_shadow), (-1.0, ~inside_shadow)):
        count = those.sum(axis=0)
        mean = (fits * those).sum(axis=0) / count
        spread = np.sqrt(((fits - mean) ** 2 * those).sum(axis=0) / np.maximum(1, count - 1))
        spread = np.maximum(spread, least)
        scores -= sign * (np.log(spread) + (observed - mean) ** 2 / (2 * spread**2))
    return Membership(scores, inside, "the likelihood ratio")


def _each(fit: Fit, X: Any, y: Any) -> Reals:
    if not callable(fit):
        raise InvalidParameter.of("fit", "fit must be a function of X and y: how well a model fits each row.")
    given = fit(X, y)
    try:
        fits = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        fits = np.empty(0)
    if fits.shape != (len(y),) or not np.isfinite(fits).all():
        raise InvalidParameter.of("fit", "fit must return a finite number for each row of X and y.")
    return fits
