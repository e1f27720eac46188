"""What a release costs one person before it comes out: the loss of the pair of data sets with and without them."""

from __future__ import annotations

import math

from dalenius.calculus import losses
from dalenius.calculus.loss import Loss
from dalenius.core import checks


def statistics_loss(row_norm: float, label: float, gram_sigma: float, product_sigma: float) -> Loss:
    """The loss of noisy X^T X and X^T y for a record of this norm and label.

    The two releases together are one Gaussian release with mu^2 = |x|^4/(2 s^2) + y^2 |x|^2/t^2, for noise s off the
    diagonal of X^T X (sqrt(2) s on it) and t in X^T y: an exact loss, not a bound. For Gaussian and Laplace releases
    of anything else, the loss of a person who moves the value by `shift` is `dp.losses.gaussian(sigma, shift)` and
    `dp.losses.laplace(scale, shift)`.

    Parameters
    ----------
    row_norm
        The Euclidean norm of the record's row.
    label
        Its target.
    gram_sigma
        The noise off the diagonal of X^T X.
    product_sigma
        The noise in X^T y.

    Returns
    -------
    Loss
        The loss of this person, under adding or removing the record.

    Raises
    ------
    InvalidParameter
        If a parameter is out of range.

    Examples
    --------
    >>> from dalenius.adaptive import statistics_loss
    >>> everybody, nearly_nobody = statistics_loss(1.0, 1.0, 5.0, 5.0), statistics_loss(0.1, 0.2, 5.0, 5.0)
    >>> round(everybody.epsilon(1e-6), 2), round(nearly_nobody.epsilon(1e-6), 3)
    (1.04, 0.013)
    """
    size, label = checks.nonnegative("row_norm", row_norm), checks.number("label", label)
    gram = size**2 / (math.sqrt(2) * checks.positive("gram_sigma", gram_sigma))
    product = abs(label) * size / checks.positive("product_sigma", product_sigma)
    return losses.gdp(math.hypot(gram, product) * (1 + 1e-15))
