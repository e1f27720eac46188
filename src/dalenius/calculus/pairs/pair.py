"""An ordered pair of distributions seen through its privacy loss.

For distributions P and Q write L = log dP/dQ, a random variable under P. Its law says all there is
to say about telling P from Q: the hockey-stick divergence is

    delta(epsilon) = P(L = +inf) + E_P[(1 - exp(epsilon - L))_+ ; L < inf],

the Renyi divergences are its moment generating function M(s) = E_P[exp(s L); L < inf], and a
product of pairs has the sum of the losses (Zhu, Dong and Wang 2022, "Optimal accounting of differential
privacy via characteristic function").

A family of losses is a subclass of `Pair`, in a file of its own. What it cannot answer it leaves to the base
class, whose answers are safe for every pair: a bound that says nothing, None, or a refusal.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import erfinv, expit, ndtri

from dalenius.calculus.theorems.conversions import pure_log_mgf, pure_to_zcdp
from dalenius.errors import UnsupportedComposition

if TYPE_CHECKING:
    from dalenius.calculus.pairs.atoms import Atoms

# numpy's stubs lose track of float64 in mixed arithmetic; the names say what is meant.
Reals = npt.NDArray[Any]
Complexes = npt.NDArray[Any]

Ball = Any
"""A flint arb or acb; the library has no useful types."""
Transform = Callable[[Ball], Ball]
"""s -> a ball that holds M(s)."""
Decay = Callable[[Ball, Ball], Ball]
"""(t, end) -> a bound on |M(c + iu)| / M(c) for u from t to the end, None for all u >= t."""

UNIT = 2.0**-53
"""Rounding unit of double precision."""

TINY = math.nextafter(0.0, 1.0)


class Bounds(NamedTuple):
    """A certified interval."""

    lower: float
    upper: float

    def mirrored(self, epsilon: float) -> Bounds:
        """Those of a symmetric pair at an epsilon below 0, from these at -epsilon: H(a) = 1 - a + a H(1/a)."""
        gap, alpha = -math.expm1(epsilon), math.exp(epsilon)
        upper = min(1.0, (gap + alpha * self.upper) * (1 + 1e-15))
        return Bounds((gap + alpha * self.lower) * (1 - 1e-15), upper)


class Tilted(NamedTuple):
    """M(c + i t) = exp(log_scale) * (values + e) with |e| <= error, entry by entry."""

    log_scale: float
    values: Complexes
    error: Reals


class Part(ABC):
    """Part of a law of L: each outcome counts with a weight between 0 and 1."""

    infinite: ClassVar[float] = 0.0
    atomic: ClassVar[None] = None
    as_atoms: ClassVar[None] = None

    @abstractmethod
    def log_mgf(self, s: Reals) -> Reals:
        """log of E[weight exp(s L)] on the real axis, of either sign, to about 1e-13; +inf beyond use."""

    def rough_log_mgf(self, s: Reals) -> Reals:
        return self.log_mgf(s)

    @abstractmethod
    def tilted(self, c: float, t: Reals) -> Tilted | None:
        """The same along the line Re s = c; None when that takes too much work."""

    @abstractmethod
    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        """As `Pair.envelope`."""

    def mass(self) -> tuple[float, float, float]:
        """log of the P-mass of a part below a level, log of its Q-mass over its P-mass, and the error of both."""
        return 0.0, 0.0, math.inf

    @property
    def is_low(self) -> bool:
        """Whether this surely is what is left when the largest losses are taken off, all of them to one side: then its
        Q-mass is no less than its P-mass.
        """
        return False

    def mean(self) -> float:
        """Roughly the mean of L within a part below a level that most of the law is in."""
        return -self.mass()[1]


class Cuts(ABC):
    """Ways to part a law of L by how far L is from `Pair.anchor`; parts between levels in a row add up to it."""

    @abstractmethod
    def below(self, level: float) -> Part:
        """What lies within `level` of the anchor."""

    @abstractmethod
    def between(self, low: float, high: float) -> Part:
        """below(high) less below(low), a law of nonnegative weights; `high` may be inf."""

    def whole(self) -> Part | None:
        """All of the law as a part, where that decays along a line faster than the pair is known to."""
        return None

    @abstractmethod
    def steepest(self, level: float) -> float:
        """Roughly the largest s at which `below(level)` is not yet ruled by what is left beyond its cut."""

    @abstractmethod
    def highest(self, mass: float) -> float:
        """A level with P-mass about `mass` beyond it."""

    @abstractmethod
    def log_beyond(self, level: float) -> float:
        """An upper bound on the log of the P-mass that is not `below(level)`."""

    @abstractmethod
    def crowd(self, low: float, high: float, s: float) -> float:
        """Roughly the share of `below(high)`, tilted by s, that lies above the low level."""

    @abstractmethod
    def jump(self, s: float) -> float:
        """Roughly how far the law tilted by s reaches, were all of it as steep as far out."""


class Pair(ABC):
    """What the engines need to know of one ordered pair. Implementations are frozen and hashable."""

    infinite: float = 0.0
    """P-mass of the event L = +inf, rounded up by a few units in its last place at most."""

    @property
    def infinite_bounds(self) -> Bounds:
        """What that mass surely is between."""
        return Bounds(self.infinite * (1 - 64 * UNIT), self.infinite)

    blur: float = 0.0
    """Error of the finitely many places where L has atoms, beyond a rounding or two."""

    roughness: float = 0.0
    """Relative error of `cells`, beyond a few roundings of the smaller tail."""

    has_law: ClassVar[bool] = True
    """False when nothing but Renyi divergences is known: there is no law of L to add up or to tabulate."""

    @cached_property
    def sort_key(self) -> tuple[str, ...]:
        """What puts pairs in order, the same for equal ones."""
        return (type(self).__name__, repr(self))

    @property
    def largest(self) -> float:
        """Supremum of the finite part of L, rounded up."""
        return math.inf

    @abstractmethod
    def log_mgf(self, s: Reals) -> Reals:
        """log M(s) on the real axis, to about 1e-12; +inf where M diverges."""

    def rough_log_mgf(self, s: Reals) -> Reals:
        """log M(s) or a somewhat larger value that is cheaper to have: enough to place a contour."""
        return self.log_mgf(s)

    renyi_is_tighter: ClassVar[bool] = False
    """True when the Renyi divergences are bounded more tightly than by this pair's own."""

    tail_only: ClassVar[bool] = False
    """True when `infinite` stands in for a far tail; Renyi divergences are then bounded without it."""

    @abstractmethod
    def renyi_log_mgf(self, s: Reals) -> Reals:
        """s times the tightest known bound on the Renyi divergence of order 1 + s, s > 0, rounded up.

        Small s are where it counts: what rounding leaves of log M(s) is divided by s. So M(s) - 1 is computed,
        not M(s), wherever the law allows it.
        """

    def delta(self, epsilon: float) -> Bounds | None:
        """Certified closed form, infinite mass included; None when there is none."""
        return None

    def tilted(self, c: float, t: Reals) -> Tilted | None:
        """M along the vertical line Re s = c; None sends the pair to the lattice engine."""
        return None

    def envelope(self, c: float, t: Reals, times: int = 1) -> Reals:
        """Entry j bounds |M(c + i u)| / M(c) for every u in [t_j, t_{j+1}], the last one for u >= t_J.

        The bound will be raised to the power `times`: for many, one a little below 1 will do.
        """
        return np.ones_like(t)

    def beside_atoms(self, c: float, t: Reals) -> Reals:
        """Bounds |M - A| / M(c) likewise, A the transform of `atomic`, plus A(c) / M(c).

        It is the envelope, where that is the sum of these two; a bound on |M| as such does not serve.
        """
        return self.envelope(c, t)

    @property
    def anchor(self) -> float:
        """Roughly where most of the law of L is."""
        return 0.0

    def cuts(self, level: float) -> Cuts | None:
        """Soft cuts of the law, with a width that suits levels around this one; None when it is kept whole."""
        return None

    @abstractmethod
    def cells(self, edges: Reals) -> tuple[Reals, Reals]:
        """Masses of L under P and under Q in (-inf, e_0], (e_0, e_1], ..., (e_J, +inf).

        The finite part only; both arrays have one entry more than `edges`, of which the first may be -inf and the
        last +inf. An atom that sits on an edge up to rounding belongs to the cell left of it.
        """

    @property
    def atomic(self) -> Pair | None:
        """The discrete part of L as (sub-probability) atoms, for pairs that also have a continuous part."""
        return None

    def continuous_delta(self, x: Reals) -> tuple[Reals, Reals] | None:
        """Bounds on the P-mean of (1 - exp(x - L))_+ beside the atoms, at many x; None when no form is known."""
        return None

    counts_two: ClassVar[bool] = False
    """Whether `two_continuous_delta` is written."""

    def two_continuous_delta(self, x: Reals) -> tuple[Reals, Reals] | None:
        """The same for the sum of two such losses, both beside the atoms."""
        return None

    @property
    def asymptote(self) -> tuple[float, float]:
        """(a, b) with D_order(P||Q) <= a order + b for every order >= 2; a = inf when none is known."""
        return (0.0, self.largest) if math.isfinite(self.largest) else (math.inf, 0.0)

    @property
    def zcdp(self) -> float:
        """A rho with D_order(P||Q) <= rho order for every order > 1, where one is known in closed form."""
        return self.asymptote[0] if self.asymptote[1] == 0.0 else math.inf

    zcdp_is_loose: bool = False
    """Whether the Renyi divergences may say more than `zcdp`, which is not theirs."""

    @property
    def gdp(self) -> float:
        """A mu for which the pair is dominated by N(mu, 1) against N(0, 1); inf when none is known.

        A loss bounded by e in both directions is dominated by randomized response, and that by the
        Gaussian pair with the same point on the diagonal, mu = 2 Phi^-1(e^e / (1 + e^e)).
        """
        if self.infinite > 0 or not math.isfinite(self.reach):
            return math.inf
        # The same number twice: the first form keeps its digits for small losses, the second for large ones.
        small = self.reach < 1.0
        half = math.sqrt(2.0) * erfinv(math.tanh(self.reach / 2)) if small else -ndtri(expit(-self.reach))
        return 2.0 * float(half) * (1 + 1e-14)

    @property
    def reach(self) -> float:
        """A bound on |L|, both ways; inf when none is known."""
        return math.inf

    def log_mgf_by_reach(self, s: Reals) -> Reals:
        """A bound on log M(s), s > 0, for pairs whose own is not exact: that of randomized response."""
        if self.infinite > 0 or not math.isfinite(self.reach):
            return np.full(len(s), math.inf)
        exact = pure_log_mgf(self.reach, s)
        return np.asarray(np.minimum(exact * (1 + 64 * UNIT), s * self.reach * (1 + 4 * UNIT)))

    @property
    def zcdp_by_reach(self) -> float:
        """The rho of every pair whose loss is bounded like this, both ways; inf when no bound is known."""
        return pure_to_zcdp(self.reach) if self.infinite == 0 and math.isfinite(self.reach) else math.inf

    @property
    def lower(self) -> Pair:
        """A pair this one dominates, used for lower bounds: itself unless it is only a bracket."""
        return self

    def lower_terms(self, times: int) -> Terms:
        """Independent losses that so many of this one dominate together."""
        return ((self.lower, times),)

    @property
    def upper(self) -> Pair:
        """A pair that dominates this one, used for upper bounds."""
        return self

    # -- other pairs that follow from this one ---------------------------------------------------------

    @classmethod
    def merge(cls, terms: Terms) -> Terms:
        """Terms of this family with equal pairs counted together, and those that tell nothing left out."""
        counts: dict[Pair, int] = {}
        for pair, n in terms:
            if n > 0 and not pair.tells_nothing:
                counts[pair] = counts.get(pair, 0) + n
        return tuple(counts.items())

    @property
    def tells_nothing(self) -> bool:
        """Whether P and Q are known to be the same."""
        return False

    @property
    def as_atoms(self) -> Atoms | None:
        """The pair itself, when L takes finitely many values and they are written out."""
        return None

    def chained(self, size: int) -> Pair | None:
        """The pair at the ends of a chain of `size` steps, each this one in both directions; None when unknown."""
        return None

    def dominates(self, other: Pair) -> bool:
        """Whether this pair is certainly as easy to tell apart as the other, by a rule of its own family."""
        return self == other

    def sampled(self, rate: float, added: bool) -> Pair:
        """The pair of Poisson sampling; `added` is True for the add direction."""
        from dalenius.calculus.pairs.sampled import SampledPair

        return SampledPair(self, rate, added)

    def mirrored(self) -> Pair:
        """The symmetric pair that agrees with this one above loss 0."""
        raise UnsupportedComposition(
            f"{type(self).__name__} is not the loss of a sample; sampling without replacement needs one."
        )

    # -- ball arithmetic, for engine="proof" -----------------------------------------------------------

    @property
    def is_provable(self) -> bool:
        """Whether the numbers behind this pair are exact or carry their error: none was tabulated in floats."""
        return self.lower is self.upper

    is_exact: ClassVar[bool] = False
    """Whether parameters are numbers as given, or rounded to the safe side: a bracket of two such ends is proved."""

    def delta_in_balls(self, flint: Any, epsilon: float) -> Ball | None:
        """A ball that holds delta(epsilon) of one release, infinite mass included; None when it has no closed form."""
        return None

    def in_balls(self, flint: Any, c: float, reach: float) -> Transform:
        """s -> a ball that holds M(s), for Re s = c and |Im s| <= reach."""
        raise UnsupportedComposition(
            f"no proof in ball arithmetic is written for {type(self).__name__}; use engine='grid' for an independent "
            "check."
        )

    def work_in_balls(self, c: float, reach: float) -> float:
        """How many exponentials one value of `in_balls` takes, where these are many."""
        return 0.0

    def decay_in_balls(self, flint: Any, c: float, top: Ball) -> Decay:
        """The same bounds as `envelope`, where their proofs stand, in balls; top is M(c).

        With atoms it is one on |M - A| / M(c) + A(c) / M(c). This one holds for every pair.
        """
        return lambda t, _: flint.arb(1)

    def renyi_in_balls(self, flint: Any, s: float) -> Ball:
        """s times a bound on the Renyi divergence of order 1 + s."""
        return self.in_balls(flint, s, 0.0)(flint.acb(flint.arb(s))).real.log()


def in_cells(envelope: Reals, breaks: Reals, t: Reals) -> Reals:
    """Re-express a step bound (value j on [breaks_j, breaks_{j+1})) on the cells of `t`, by maxima."""
    first = np.maximum(np.searchsorted(breaks, t, side="right") - 1, 0)
    runs = np.maximum.reduceat(envelope, first)
    # A cell of t reaches into the step that holds its right end, which reduceat leaves out.
    return np.asarray(np.maximum(runs, np.append(envelope[first[1:]], envelope[first[-1] :].max())))


Terms = tuple[tuple[Pair, int], ...]
"""Independent losses and how often each occurs."""
