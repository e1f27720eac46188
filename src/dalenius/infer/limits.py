"""Where confidence limits come from: a covariance, a curve of limits by their level, or nowhere.

Each kind knows its limits at any level, the p-values that agree with them, and its own record.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from dalenius.core.arrays import Reals
from dalenius.core.checks import shown
from dalenius.core.record import JSON, exact, unknown
from dalenius.errors import InvalidParameter

ALPHAS = (0.9, 0.7, 0.5, 0.32, 0.2, 0.15, 0.1, 0.05, 0.025, 0.02, 0.01, 0.005, 0.002, 0.001, 1e-4)
"""The levels at which the limits of an inverted test are kept."""


class Limits(ABC):
    """The confidence limits of k estimates."""

    tag: ClassVar[str]
    """The word for this kind in records; it never changes."""
    reason: str = ""
    """Why there are none."""
    bse: Reals
    least: float = 0.0
    """The least alpha for which they are known."""

    @property
    def size(self) -> int:
        """Of how many estimates."""
        return len(self.bse)

    @property
    def covariances(self) -> Reals:
        """Of the estimates (k x k); NaN where only their errors are known."""
        found = np.full((self.size, self.size), np.nan)
        np.fill_diagonal(found, self.bse**2)
        return found

    @abstractmethod
    def at(self, params: Reals, alpha: float) -> Reals:
        """Lower and upper limits (k x 2) that fail with probability alpha."""

    @abstractmethod
    def pvalues(self, params: Reals) -> Reals:
        """The least alpha at which 0 is outside the limits, of each estimate."""

    @abstractmethod
    def of_alike(self, rows: int) -> Limits:
        """Those that hold where up to so many rows may be alike, as those of one person."""

    @abstractmethod
    def record(self) -> dict[str, JSON]:
        """In words."""

    @classmethod
    @abstractmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Limits:
        """What `record` wrote."""


@dataclass(frozen=True, eq=False)
class Wald(Limits):
    """params -+ q bse, with q a quantile of the normal law, or of Student's with so many degrees of freedom."""

    covariance: Reals
    degrees: Reals
    tag = "wald"

    @classmethod
    def of(cls, covariance: object, degrees: object, k: int) -> Wald:
        """degrees: one number, one of each estimate, or None for the normal law."""
        given = numbers("covariance", covariance, (k, k))
        df = np.broadcast_to(np.asarray(math.inf if degrees is None else degrees, dtype=float), (k,))
        if not (np.diag(given) >= 0).all() or not np.isfinite(given).all() or not (df > 0).all():
            raise InvalidParameter(
                "covariance must be finite, with variances of 0 or more, and degrees of freedom above 0; where an "
                "estimate has no variance, say why it has no interval (reason=...)."
            )
        return cls(given, np.array(df))

    @property
    def bse(self) -> Reals:  # type: ignore[override]
        return np.sqrt(np.diag(self.covariance))

    @property
    def covariances(self) -> Reals:
        return self.covariance.copy()

    def at(self, params: Reals, alpha: float) -> Reals:
        reach = self._quantile(1 - alpha / 2) * self.bse
        return np.column_stack((params - reach, params + reach))

    def pvalues(self, params: Reals) -> Reals:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(params == 0, 0.0, np.abs(params) / self.bse)
        normal = np.isinf(self.degrees)
        df = np.where(normal, 1.0, self.degrees)
        return np.asarray(2 * np.where(normal, ndtr(-t), stdtr(df, -t)))

    def of_alike(self, rows: int) -> Wald:
        """The square of a sum of m scores is at most m times the sum of their squares."""
        return Wald(self.covariance * rows, self.degrees)

    def _quantile(self, share: float) -> Reals:
        normal = np.isinf(self.degrees)
        return np.asarray(np.where(normal, ndtri(share), stdtrit(np.where(normal, 1.0, self.degrees), share)))

    def record(self) -> dict[str, JSON]:
        degrees = [None if math.isinf(df) else exact(df) for df in self.degrees]
        return {"kind": self.tag, "covariance": _texts(self.covariance), "degrees": degrees}

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Wald:
        degrees = [math.inf if df is None else float(df) for df in record["degrees"]]
        return cls.of(np.array(record["covariance"], dtype=float), degrees, len(degrees))


@dataclass(frozen=True, eq=False)
class Curve(Limits):
    """Limits that invert a test, at some levels alpha (falling, so that limits widen) and in between.

    A test is a function, which cannot be written down: what is looked at, before any writing too, are its limits at
    `ALPHAS`, found when they are first needed. So a result is the same before and after it was saved. Between two
    levels limits are on a straight line in the normal quantile of alpha, which is exact for normal and near for all
    smooth laws; at alpha = 1 they are the estimate. Below the least alpha nothing is known, and asking is an error.
    """

    alphas: Reals
    table: Callable[[], tuple[Reals, Reals]]
    bse: Reals
    tag = "curve"

    @classmethod
    def of(cls, limits: Callable[[float], object], bse: object, k: int, alphas: Sequence[float]) -> Curve:
        """From a function: limits(alpha) is k x 2."""
        levels = np.array(sorted({float(alpha) for alpha in alphas}, reverse=True))
        errors = np.full(k, np.nan) if bse is None else numbers("bse", bse, (k,))
        if not ((levels > 0) & (levels < 1)).all() or len(levels) == 0:
            raise InvalidParameter("the levels of limits must be between 0 and 1.")

        def ends(alpha: float) -> tuple[Reals, Reals]:
            return _sound(*numbers("limits(alpha)", limits(alpha), (k, 2)).T)

        ends(float(levels[np.argmin(np.abs(levels - 0.05))]))  # so that what is wrong is seen at once

        def table() -> tuple[Reals, Reals]:
            low, high = zip(*(ends(float(alpha)) for alpha in levels), strict=True)
            return np.array(low), np.array(high)

        return cls(levels, table, errors)

    @property
    def least(self) -> float:  # type: ignore[override]
        return float(self.alphas[-1])

    @cached_property
    def ends(self) -> tuple[Reals, Reals]:
        """Lower and upper limits (levels x k). They never shrink as alpha falls; searches leave some that do."""
        low, high = self.table()
        return np.minimum.accumulate(low), np.maximum.accumulate(high)

    def at(self, params: Reals, alpha: float) -> Reals:
        if alpha < self.alphas[-1]:
            raise InvalidParameter.of(
                "alpha",
                f"alpha is {alpha:g}; the limits of this result are known down to alpha = {self.alphas[-1]:g}.",
            )
        z, low, high = self._extended(params)
        here = -float(ndtri(alpha / 2))
        k = min(int(np.searchsorted(z, here, side="left")), len(z) - 1)
        if z[k] == here or k == 0:
            return np.column_stack((low[k], high[k]))
        share = (here - z[k - 1]) / (z[k] - z[k - 1])
        with np.errstate(invalid="ignore"):  # from an infinite limit to another
            between = [end[k - 1] + share * (end[k] - end[k - 1]) for end in (low, high)]
        below, above = np.where(np.isnan(between), (low[k], high[k]), between)
        return np.column_stack((below, above))

    def pvalues(self, params: Reals) -> Reals:
        z, low, high = self._extended(params)
        least = np.array([_first_within(z, a, b) for a, b in zip(low.T, high.T, strict=True)])
        return np.asarray(np.maximum(2 * ndtr(-least), self.alphas[-1]))

    def of_alike(self, rows: int) -> NoLimits:
        return NoLimits(len(self.bse), f"up to {rows} rows may be alike, and the test takes none to be.")

    def _extended(self, params: Reals) -> tuple[Reals, Reals, Reals]:
        """With the estimates at alpha = 1; limits hold them, or the nearer of the two is moved there."""
        z = np.concatenate(([0.0], -ndtri(self.alphas / 2)))
        low, high = (np.vstack((params, end)) for end in self.ends)
        return z, np.minimum.accumulate(low), np.maximum.accumulate(high)

    def record(self) -> dict[str, JSON]:
        return {
            "kind": self.tag,
            "alphas": _texts(self.alphas),
            "low": _texts(self.ends[0]),
            "high": _texts(self.ends[1]),
            "errors": _texts(self.bse),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> Curve:
        words = (np.array(record[word], dtype=float) for word in ("alphas", "low", "high", "errors"))
        alphas, low, high, errors = words
        falling = len(alphas) > 0 and alphas[-1] > 0 and alphas[0] < 1 and bool((np.diff(alphas) < 0).all())
        if not falling or low.shape != (len(alphas), len(errors)) or high.shape != low.shape:
            raise ValueError
        return cls._kept(alphas, *_sound(low, high), errors)

    @classmethod
    def _kept(cls, alphas: Reals, low: Reals, high: Reals, errors: Reals) -> Curve:
        return cls(alphas, lambda: (low, high), errors)

    def __reduce__(self) -> tuple[Callable[..., Curve], tuple[Reals, ...]]:
        """Copied and sent to other processes as it is written down: without the function."""
        return self._kept, (self.alphas, *self.ends, self.bse)


@dataclass(frozen=True, eq=False)
class NoLimits(Limits):
    """No interval is honest here, and why."""

    k: int
    reason: str
    tag = "none"

    @property
    def size(self) -> int:
        return self.k

    @property
    def bse(self) -> Reals:  # type: ignore[override]
        return np.full(self.k, np.nan)

    def at(self, params: Reals, alpha: float) -> Reals:
        return np.full((self.k, 2), np.nan)

    def pvalues(self, params: Reals) -> Reals:
        return np.full(self.k, np.nan)

    def of_alike(self, rows: int) -> NoLimits:
        return self

    def record(self) -> dict[str, JSON]:
        return {"kind": self.tag, "number": self.k, "reason": self.reason}

    @classmethod
    def from_record(cls, record: Mapping[str, JSON]) -> NoLimits:
        return cls(int(record["number"]), str(record["reason"]))


KINDS: dict[str, type[Limits]] = {kind.tag: kind for kind in (Wald, Curve, NoLimits)}


def read_limits(record: Mapping[str, JSON]) -> Limits:
    """The limits that `record` wrote."""
    if record["kind"] not in KINDS:
        raise unknown("limits", record["kind"], InvalidParameter)
    return KINDS[record["kind"]].from_record(record)


def _sound(low: Reals, high: Reals) -> tuple[Reals, Reals]:
    if np.isnan(low).any() or np.isnan(high).any() or not (low <= high).all():
        raise InvalidParameter(
            "the lower limits must be at or below the upper ones; infinite where nothing is known."
        )
    return low, high


def _first_within(z: Reals, low: Reals, high: Reals) -> float:
    """The z at which limits that start from a point come to hold 0; the last one where they never do."""
    holds = (low <= 0) & (high >= 0)
    if not holds.any():
        return float(z[-1])
    k = int(holds.argmax())
    if k == 0:
        return 0.0
    end = low if low[k - 1] > 0 else high
    if math.isinf(end[k]):
        return float(z[k - 1])
    share = end[k - 1] / (end[k - 1] - end[k])
    return float(z[k - 1] + share * (z[k] - z[k - 1]))


def numbers(name: str, given: object, shape: tuple[int, ...]) -> Reals:
    """Released or public numbers as an array of this shape."""
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter.of(name, f"{name} is {shown(given)}; it must be numbers.") from None
    if found.shape != shape:
        raise InvalidParameter.of(
            name, f"{name} has shape {found.shape}, {shown(given)}; it must be {shape}."
        )
    return found


def _texts(values: Reals) -> JSON:
    """Numbers as exact text, in lists of lists."""
    return exact(float(values)) if values.ndim == 0 else [_texts(value) for value in values]
