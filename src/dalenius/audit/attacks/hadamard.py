"""Bits from the sums over the subsets of a Hadamard matrix (Dwork and Yekhanin 2008)."""

from __future__ import annotations

from typing import Any

from dalenius.audit.attacks.guesses import Guesses
from dalenius.audit.attacks.queries import answered, hadamard_subsets
from dalenius.core.hadamard import hadamard_transform


def hadamard_reconstruction(release: Any, n: int, truth: Any = None) -> Guesses:
    """Rebuild n secret bits from 2 n sums, in n log n steps.

    A subset's answer minus its complement's is a row of a Hadamard matrix H times the bits; H'v/n undoes that.
    If every answer is within a of the truth, at most 16 a^2 bits come out wrong, however large n is: v is off by at
    most 2 a in each place, so the squared error of H'v/n adds up to 4 a^2, and each wrong bit takes 1/4 of it. So no
    release that answers these questions to within o(sqrt(n)) keeps the bits.

    Parameters
    ----------
    release
        The answers to `hadamard_subsets(n)`, or a function that gives them.
    n
        The number of bits, a power of 2.
    truth
        The secret bits, to say how many were found.

    Returns
    -------
    Guesses
        The bits.

    Raises
    ------
    InvalidParameter
        If n is not a power of 2, or the answers are not 2 n numbers.

    Examples
    --------
    >>> from dalenius.audit.attacks import hadamard_reconstruction, random_bits
    >>> secret = random_bits(64)
    >>> hadamard_reconstruction(lambda who: who @ secret.astype(int), 64, truth=secret).right
    64
    """
    queries = hadamard_subsets(n)
    answers = answered(release, queries)
    fitted = hadamard_transform(answers[0::2] - answers[1::2]) / queries.shape[1]
    return Guesses(fitted > 0.5, truth, "the Hadamard transform")
