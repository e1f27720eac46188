"""The winner among noisy scores, certain."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Ints, Reals, Words
from dalenius.errors import InvalidParameter
from dalenius.noise.chunks import CHUNK
from dalenius.noise.contest import Contestant, winner
from dalenius.noise.exponential import exponentials
from dalenius.noise.parameters import exact, floats
from dalenius.noise.source import words

Noise = Literal["gumbel", "exponential", "laplace"]

NEGLIGIBLE = -1e300


def noisy_argmax(scores: Any, scale: Any, noise: Noise = "gumbel", base: Any = None) -> Any:
    """The index i of the largest  scores[i] + scale * noise_i, exactly.

    The noise is independent standard Gumbel, exponential (mean 1) or Laplace (scale 1), of unlimited
    precision: the digits of a draw are fetched until the winner is certain. With Gumbel noise, i wins with
    probability proportional to base[i] exp(scores[i]/scale); score, scale and base are
    taken at their exact values.

    Parameters
    ----------
    scores
        Finite floats, candidates along the last axis.
    scale
        What the noise is multiplied by, within [2^-900, 2^900].
    noise
        The law of the noise: "gumbel", "exponential" or "laplace".
    base
        For Gumbel noise, a measure on the candidates: 1 for each if not given; 0 keeps a candidate out.

    Returns
    -------
    int or ndarray
        One int for a single row of scores, else an int64 array over the other axes.

    Raises
    ------
    InvalidParameter
        If a parameter is not one of those described.

    Examples
    --------
    >>> from dalenius.noise import noisy_argmax
    >>> noisy_argmax([0.0, 1000.0, 0.0], scale=1.0)
    1
    """
    values: Reals = floats("scores", scores)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise InvalidParameter("scores must hold at least one candidate along the last axis.")
    checks.one_of("noise", noise, "gumbel", "exponential", "laplace")
    size = exact("scale", scale, "a finite number above 0")
    if not Fraction(1, 1 << 900) <= size <= 1 << 900:
        raise InvalidParameter(f"scale is {scale}; it must be above 0, within [2^-900, 2^900].")
    measure = _base(base, values.shape, noise)
    rows = values.reshape(-1, values.shape[-1])
    weights = None if measure is None else np.broadcast_to(measure, values.shape).reshape(rows.shape)
    out = np.empty(len(rows), dtype=np.int64)
    contest = _Contest(size, noise)
    together = max(1, CHUNK // rows.shape[1])
    for start in range(0, len(rows), together):
        part = slice(start, start + together)
        out[part] = contest.winners(rows[part], None if weights is None else weights[part])
    return int(out[0]) if values.ndim == 1 else out.reshape(values.shape[:-1])


def _base(base: Any, shape: tuple[int, ...], noise: Noise) -> Reals | None:
    if base is None:
        return None
    if noise != "gumbel":
        raise InvalidParameter(f"a base measure goes with Gumbel noise, not with {noise} noise.")
    measure: Reals = floats("base", base)
    if measure.shape != shape and measure.shape != shape[-1:]:
        raise InvalidParameter(f"base has shape {measure.shape}; it must be that of the scores, {shape}.")
    if bool((measure < 0).any()) or not bool((measure > 0).any(axis=-1).all()):
        raise InvalidParameter("base must be nowhere negative, and above 0 for some candidate.")
    return measure


class _Contest:
    """Bounds on  (score - best)/scale + noise + ln base  in doubles; what overlaps goes to :mod:`contest`."""

    def __init__(self, scale: Fraction, noise: Noise) -> None:
        self.scale, self.noise = scale, noise
        self.nearest = float(scale)

    def winners(self, rows: Reals, base: Reals | None) -> Ints:
        where: Any = True if base is None else base > 0
        best = rows.max(axis=1, keepdims=True, initial=-np.inf, where=where)
        if rows.shape[1] <= CHUNK:
            return self._rows(rows, best, base)
        return np.array([self._long(rows[0], best[0], None if base is None else base[0])], dtype=np.int64)

    def _rows(self, rows: Reals, best: Reals, base: Reals | None) -> Ints:
        drawn = words(rows.size).reshape(rows.shape)
        low, high = self.bounds(rows, best, drawn, base)
        result: Ints = np.argmax(low, axis=1)
        open_ = high >= np.take_along_axis(low, result[:, None], axis=1)
        for i in np.flatnonzero(open_.sum(axis=1) > 1):
            among = np.flatnonzero(open_[i])
            result[i] = self.settle(among, rows[i], drawn[i, among], base if base is None else base[i])
        return result

    def _long(self, row: Reals, best: Reals, base: Reals | None) -> int:
        """More candidates than fit a chunk: those of each chunk that may still win."""
        among, kept_words, tops = [], [], []
        floor = -math.inf
        for start in range(0, len(row), CHUNK):
            part = slice(start, start + CHUNK)
            drawn = words(len(row[part]))
            low, high = self.bounds(
                row[None, part], best[None], drawn[None], base if base is None else base[None, part]
            )
            floor = max(floor, float(low.max()))
            keep = np.flatnonzero(high[0] >= floor)
            among.append(keep + start)
            kept_words.append(drawn[keep])
            tops.append(high[0][keep])
        still = np.concatenate(tops) >= floor
        candidates = np.concatenate(among)[still]
        if len(candidates) == 1:
            return int(candidates[0])
        return self.settle(candidates, row, np.concatenate(kept_words)[still], base)

    def bounds(self, rows: Reals, best: Reals, drawn: Words, base: Reals | None) -> tuple[Reals, Reals]:
        """Below and above each noisy score.

        (score - best)/scale is off by a relative 2^-51 (three roundings; halves, lest a difference
        overflows; where the quotient does, -1e300 is above it), ln base and ln E by 8 ulps, a relative
        2^-49, E as `exponentials` says, and adding up by two roundings: below the noise's own error plus
        2^-48 of the sizes of the terms. (Halving the smallest doubles loses up to 2^-1075; in units of a
        scale of at least 2^-900 that is nothing beside an E of at least 2^-65.)
        """
        with np.errstate(over="ignore"):
            center = (rows * 0.5 - best * 0.5) / (self.nearest * 0.5)
        noise, error = self._noise(drawn)
        size = np.abs(center) + np.abs(noise)
        far = center < NEGLIGIBLE
        if base is not None:
            with np.errstate(divide="ignore"):
                logs = np.log(base)
            center = center + logs
            size += np.abs(logs)
        value = center + noise
        error += size * 2.0**-48
        with np.errstate(invalid="ignore"):
            low, high = value - error, value + error
        if far.any():
            low[far], high[far] = -np.inf, NEGLIGIBLE / 2
        if base is not None:
            out = base == 0
            low[out], high[out] = -np.inf, -np.inf
        return low, high

    def _noise(self, drawn: Words) -> tuple[Reals, Reals]:
        if self.noise == "laplace":
            negative = (drawn >> np.uint64(63)).astype(np.bool_)
            value, relative = exponentials(drawn, 63)
            return np.where(negative, -value, value), value * relative
        value, relative = exponentials(drawn, 64)
        if self.noise == "exponential":
            return value, value * relative
        # -ln(e (1 + r)) is -ln e to within 2 |r| for |r| <= 1/2; np.log's own error is in the size term
        # above.
        with np.errstate(divide="ignore"):
            return -np.log(value), np.where(relative <= 0.5, 2 * relative, np.inf)

    def settle(self, among: Ints, row: Reals, drawn: Words, base: Reals | None) -> int:
        contestants = [
            Contestant.of(
                self.noise,
                Fraction(float(row[i])) / self.scale,
                int(w),
                None if base is None else Fraction(float(base[i])),
            )
            for i, w in zip(among.tolist(), drawn.tolist(), strict=True)
        ]
        return int(among[winner(contestants)])
