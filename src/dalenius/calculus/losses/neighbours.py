"""From one neighbour to several, to other neighbours, and to disjoint parts of the data."""

from __future__ import annotations

from dalenius.calculus.loss import Loss, checked
from dalenius.calculus.losses.tables import finite_pair, sides, single_pair, tabulated
from dalenius.calculus.pairs.bracket import Bracket
from dalenius.calculus.pairs.curves import repeated, there_and_back
from dalenius.calculus.pairs.known import GroupOf, worst_of
from dalenius.calculus.pairs.pair import Pair
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import AdjacencyMismatch, InvalidParameter, UnsupportedComposition

MOST_STEPS = 64
"""Longer chains of a tabulated step are refused: every step adds its rounding."""


def group(loss: Loss, size: int) -> Loss:
    """Loss towards a group: data sets that differ in up to `size` records.

    The trade-off function of a chain of neighbours is 1 - (1-f)^(size times composed) (Dong, Roth and Su
    2022, section 2.5): size * mu for Gaussian, size * epsilon at most for pure DP, and better.

    Parameters
    ----------
    loss
        The loss of one release.
    size
        How many records, 1 or more.

    Returns
    -------
    Loss
        The loss between data sets that differ in up to `size` records.

    Raises
    ------
    InvalidParameter
        If `size` is not a count from 1 up.
    UnsupportedComposition
        If the group is too large for a loss without a closed form.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.losses.group(dp.losses.gdp(0.5), 2).gdp()
    1.0
    """
    size = checks.count("size", size, least=1)
    loss = checked(loss, "group")
    if size == 1 or not loss.terms_remove:
        return loss
    return Loss.symmetric(_chained(loss, size), loss.adjacency, f"group({loss.expression}, size={size})")


def to_replace_one(loss: Loss) -> Loss:
    """The same release for replace-one neighbours: remove one record, then add another.

    f-DP for add/remove gives f(1 - f)-DP for replacement (Dong, Roth and Su 2022, section 2.5), which is better than
    doubling epsilon; where the directions of f differ, one of the two is that of removing and one that of adding. The
    other way round nothing follows: the number of records may be revealed.

    Parameters
    ----------
    loss
        The loss of one release.

    Returns
    -------
    Loss
        The loss for replace-one neighbours.

    Raises
    ------
    InvalidParameter
        If this is not a loss.

    Examples
    --------
    >>> import dalenius as dp
    >>> round(dp.losses.to_replace_one(dp.losses.pure(1.0)).delta(0.0), 6)
    0.632121
    """
    loss = checked(loss, "to_replace_one")
    if loss.adjacency is REPLACE_ONE:
        return loss
    if not loss.terms_remove:
        return Loss.zero(REPLACE_ONE)
    pair = _chained(loss, 2) if loss.is_symmetric else _there_and_back(loss)
    return Loss.symmetric(pair, REPLACE_ONE, f"to_replace_one({loss.expression})")


def chained_above(loss: Loss, below: Pair, name: str) -> Loss:
    """An add/remove loss for replace-one neighbours, from above along the chain; `below` is what some two show.

    The chain of two neighbours is attained by some releases with these losses, but not by every one of them: what a
    known release is sure to tell has to be said apart.
    """
    pair = to_replace_one(loss).terms_remove[0][0]
    known = pair.known if isinstance(pair, Bracket) else pair
    return Loss.symmetric(Bracket(below, pair.upper, known), REPLACE_ONE, name)


def to_adjacency(loss: Loss, adjacency: Adjacency) -> Loss:
    """The loss restated for another neighbouring relation, where that follows.

    Parameters
    ----------
    loss
        The loss of one release.
    adjacency
        The neighbouring relation wanted.

    Returns
    -------
    Loss
        The loss for that relation; the same one if it is stated for it already.

    Raises
    ------
    AdjacencyMismatch
        If an add/remove loss is asked of a replace-one loss, from which nothing follows.

    Examples
    --------
    >>> import dalenius as dp
    >>> loss = dp.losses.to_adjacency(dp.losses.gdp(1.0), dp.REPLACE_ONE)
    >>> loss.gdp(), loss.adjacency
    (2.0, REPLACE_ONE)
    """
    loss = checked(loss, "to_adjacency")
    if loss.adjacency is checked_adjacency(adjacency):
        return loss
    if adjacency is REPLACE_ONE:
        return to_replace_one(loss)
    raise AdjacencyMismatch(
        "a replace-one loss says nothing about add/remove neighbours: the release may reveal how many records there "
        "are. State the sensitivity for dalenius.ADD_REMOVE from the start."
    )


def parallel(*losses: Loss) -> Loss:
    """Loss of releases on disjoint parts of the data, each record in one part by a rule that sees it alone.

    The worst part decides: pointwise the largest profile (McSherry 2009; Smith, Asghar, Gioiosa, Mrabet, Gaspers and
    Tyler 2022). Add/remove only: with replace-one the sizes of the parts are not protected.

    Parameters
    ----------
    *losses
        The losses of the releases, one for each part.

    Returns
    -------
    Loss
        The loss of all releases together.

    Raises
    ------
    InvalidParameter
        If there is no loss.
    AdjacencyMismatch
        If a loss is stated for replace-one neighbours.

    Examples
    --------
    >>> import dalenius as dp
    >>> dp.losses.parallel(dp.losses.gdp(0.5), dp.losses.gdp(1.0)).gdp()
    1.0
    """
    if not losses:
        raise InvalidParameter("parallel() needs at least one loss.")
    for loss in losses:
        if checked(loss, "parallel").adjacency is not ADD_REMOVE:
            raise AdjacencyMismatch(
                "parallel composition does not hold for replace-one neighbours (a record may move from one part to "
                "another, changing both). State the losses for dalenius.ADD_REMOVE."
            )
    distinct = list(dict.fromkeys(losses))
    name = f"parallel({', '.join(loss.expression for loss in losses)})"
    if len(distinct) == 1:
        return distinct[0]
    pairs = [single_pair(loss) for loss in distinct]
    for worst in pairs:
        if worst is not None and all(pair is not None and worst.dominates(pair) for pair in pairs):
            return Loss.symmetric(worst, ADD_REMOVE, name)
    known = worst_of(*(terms for loss in distinct for terms in (loss.terms_remove, loss.terms_add)))
    return Loss.symmetric(Bracket(*tabulated(*distinct), known), ADD_REMOVE, name)


def _chained(loss: Loss, size: int) -> Pair:
    pair = single_pair(loss)
    closed = None if pair is None else pair.chained(size)
    if closed is not None and (closed.has_law or size > MOST_STEPS):
        return closed
    if size > MOST_STEPS:
        raise UnsupportedComposition(
            f"group size {size} is more than the {MOST_STEPS} steps followed exactly for this loss; split the chain "
            "with two calls, or bound the loss by pure() or gdp() first, whose groups are closed forms."
        )
    step = worst_of(loss.terms_remove, loss.terms_add)
    below, above = finite_pair(loss)
    ends = repeated(below, size, "lower"), repeated(above, size, "upper")
    return Bracket(*ends, None if step is None else GroupOf(step, size))


def _there_and_back(loss: Loss) -> Pair:
    """The chain that removes one record and adds another, its directions apart."""
    (low, high), (other_low, other_high) = sides(loss)
    step = worst_of(loss.terms_remove, loss.terms_add)
    ends = there_and_back(low, other_low, "lower"), there_and_back(high, other_high, "upper")
    return Bracket(*ends, None if step is None else GroupOf(step, 2))
