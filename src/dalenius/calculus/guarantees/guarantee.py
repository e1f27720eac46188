"""What a user promises: frozen data that says whether a loss keeps it, and everything else about its kind.

Each kind is one file beside this one: the class, its text and record, the measure that decides it, and the filter that
adds up what releases cost (`filter.py` has the lemma that all filters rest on). `KINDS` in the package lists them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from dalenius.calculus.explain import percent
from dalenius.calculus.guarantees.amounts import declared, exactly_at_most, shown
from dalenius.calculus.guarantees.cost import Currency
from dalenius.calculus.loss import Loss
from dalenius.calculus.loss import checked as checked_loss
from dalenius.calculus.pairs.pair import Bounds
from dalenius.core import checks, notebook
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.habits import Hinted
from dalenius.errors import InvalidParameter, LedgerError

if TYPE_CHECKING:
    from dalenius.calculus.guarantees.filter import Filter, Reserve
    from dalenius.calculus.guarantees.pure import PureDP


@dataclass(frozen=True)
class Measure:
    """What a promise limits: the quantity, its certified upper bound, and what was promised."""

    quantity: str
    upper: float
    promised: float


READ = 4
"""Digits of a promise that people read; records have all of them."""


class Guarantee(Hinted, ABC):
    """A promise about a release, comparable with the loss that keeps it or not.

    A kind says `tag`, `parameters`, `leading`, `view`, `measure` and `loss`; one that can be a budget also `currency`
    and `filter`. What it does not say is refused with an error that names the fix.

    Examples
    --------
    >>> import dalenius as dp
    >>> promise = dp.ApproxDP(1.0, 1e-5)
    >>> promise.holds(dp.losses.gaussian(sigma=4.0)), promise.holds(dp.losses.gaussian(sigma=3.0))
    (True, False)
    """

    tag: ClassVar[str]
    """The word for this kind on the command line and in records; it never changes."""
    parameters: ClassVar[Mapping[str, checks.Check]]
    """The numbers of the promise in the order they are written, each with its check."""
    leading: ClassVar[str | None]
    """The parameter that says how much is promised; None where a promise is more than numbers."""
    view: ClassVar[Literal["profile", "divergence", "trade-off"]]
    """The view of a loss that decides: delta(epsilon), Renyi divergences, or the trade-off of errors."""
    name: ClassVar[str]
    """How Python writes it: the name of its class, unless several kinds share one."""
    currency: ClassVar[Currency | None] = None
    """What budgets of this kind are counted in; None where it has no filter."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "name"):
            cls.name = cls.__name__

    def __post_init__(self) -> None:
        for name, check in self.parameters.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))

    # -- what is promised ---------------------------------------------------------------------------

    @abstractmethod
    def measure(self, loss: Loss) -> Measure:
        """The certified bound that decides whether the loss keeps the promise."""

    @abstractmethod
    def loss(self, adjacency: Adjacency = ADD_REMOVE) -> Loss:
        """The worst loss that keeps the promise."""

    def excess(self, loss: Loss) -> float:
        """How far `loss` is from the promise: at most 0 when it is kept (certified), and growing with the loss."""
        return self.excess_bounds(loss).upper

    def excess_bounds(self, loss: Loss) -> Bounds:
        """A bracket around the excess, where the loss has one; `excess` is its upper end."""
        found = self.measure(checked_loss(loss, "holds"))
        return Bounds(found.upper - found.promised, found.upper - found.promised)

    def holds(self, loss: Loss) -> bool:
        """Whether the loss certainly keeps the promise."""
        return self.excess(loss) <= 0.0

    # -- how it is written --------------------------------------------------------------------------

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of the promise by their names, such as {"rho": 0.5}."""
        return {name: getattr(self, name) for name in self.parameters}

    @property
    def text(self) -> str:
        """The promise as the command line reads it, such as "approx:1.0,1e-05"."""
        return f"{self.tag}:{','.join(map(repr, self.numbers.values()))}"

    def shortened(self, *, up: bool, digits: int = READ) -> Self:
        """The promise with so many digits, for people: rounded up where it was spent, down where it is left.

        It is a promise of its own: what is left, rounded down, may be spent.

        >>> import dalenius as dp
        >>> dp.ZCDP(0.0012484741).shortened(up=True), dp.ApproxDP(2.99126490, 1e-5).shortened(up=False)
        (ZCDP(rho=0.001249), ApproxDP(epsilon=2.991, delta=1e-05))
        """
        numbers = {
            name: float(shown(Decimal(repr(value)), digits, up))
            for name, value in self.numbers.items()
            if name in (self.leading, "delta")
        }
        return replace(self, **numbers) if numbers else self  # type: ignore[type-var]

    def read(self, *, up: bool) -> Self:
        """The same promise, which `print` shows at the digits people read: rounded up if spent, down if it is left.

        It is exact all the same, and `repr` and records say so. A promise that nobody said this of is printed exactly:
        rounded down it would promise too little, rounded up more than is left.

        >>> import dalenius as dp
        >>> left = dp.ApproxDP(2.9171622818153957, 1e-5).read(up=False)
        >>> print(left)
        ApproxDP(epsilon=2.917, delta=1e-05)
        >>> left
        ApproxDP(epsilon=2.9171622818153957, delta=1e-05)
        """
        found = copy(self)
        object.__setattr__(found, "_up", up)
        return found

    def __str__(self) -> str:
        up: bool | None = vars(self).get("_up")
        return repr(self if up is None else self.shortened(up=up))

    def _repr_html_(self) -> str:
        """What a notebook shows: the promise, and what it leaves to an attacker."""
        loss = self.loss()
        right = percent((1 + loss.membership_advantage()) / 2)
        found = percent(loss.power(0.01))
        return notebook.table(
            [
                ("promise", str(self)),
                ("a guess who is in is right", f"at most {right}"),
                ("found at 1 % false alarms", f"at most {found}"),
            ]
        )

    def record(self) -> dict[str, str]:
        """The promise in words that are never changed: its tag, and its numbers as exact text."""
        return {"kind": self.tag, **{name: repr(value) for name, value in self.numbers.items()}}

    @classmethod
    def from_record(cls, content: object) -> Self:
        """The promise of this kind that `record` wrote; LedgerError for anything else."""
        if isinstance(content, Mapping) and set(content) == {"kind", *cls.parameters}:
            try:
                made = cls(*(float(content[name]) for name in cls.parameters))
                if made.record() == content:  # one promise has one record
                    return made
            except (TypeError, ValueError):
                pass
        names = ", ".join(("kind", *cls.parameters))
        raise LedgerError(
            f"a guarantee of kind {cls.tag} must be recorded as {{{names}}}, its numbers as exact text."
        )

    # -- as a budget, and as the price of a release -------------------------------------------------

    def filter(self, adjacency: Adjacency = ADD_REMOVE, reserve: Reserve = 0) -> Filter:
        """The filter that keeps this promise over any number of releases; an error where there is none."""
        raise InvalidParameter(
            f"the budget is {self!r}; it must be {budgets()}.{' ' + self.advice if self.advice else ''}"
        )

    advice: ClassVar[str] = ""
    """What to do in place of opening an account with a guarantee that has no filter."""

    def divided(self, parts: float) -> Guarantee:
        """The promise that so many releases can each be given, to keep this one together."""
        parts = checks.positive("parts", parts)
        if self.size is None:
            raise InvalidParameter(f"{self!r} cannot be divided between releases; use {budgets()}.")
        return self._with_size(self.size / parts)

    def as_pure(self) -> PureDP | None:
        """The same promise as PureDP, where it is one."""
        return None

    def strict(self) -> Self:
        """The promise with every number rounded to a float not above what was declared.

        `ZCDP(0.1)` is a double slightly above one tenth. A release whose loss keeps `ZCDP(0.1).strict()` costs at most
        one tenth exactly, so that ten of them fit `ZCDP(1.0)`.

        >>> import dalenius as dp
        >>> dp.ZCDP(0.1).strict().rho < 0.1, dp.ZCDP(0.5).strict().rho
        (True, 0.5)
        """
        numbers = {name: exactly_at_most(declared(value)) for name, value in self.numbers.items()}
        return replace(self, **numbers)  # type: ignore[type-var]

    # -- searches -----------------------------------------------------------------------------------

    def tightened(self) -> Guarantee:
        """A promise that implies this one with room for rounding: what a search for a parameter aims at."""
        return self

    @property
    def size(self) -> float | None:
        """The number that grows with the loss; None where a promise is more than numbers."""
        return None if self.leading is None else float(getattr(self, self.leading))

    def of_size(self, size: float) -> Guarantee:
        """A promise of the same kind and this size, for one of several trials under this one."""
        return self._with_size(size)

    noise_power: ClassVar[int] = 1
    """The leading number is inversely proportional to this power of the size of the noise."""

    def noisier(self, share: float) -> Guarantee:
        """What the same release promises when its noise is 1/share times as large."""
        return self._with_size((self.size or 0.0) * checks.positive("share", share) ** self.noise_power)

    def _with_size(self, size: float) -> Self:
        return replace(self, **{str(self.leading): size})  # type: ignore[type-var]


def budgets() -> str:
    """What a budget may be, for a message: every kind with a currency."""
    from dalenius.calculus.guarantees import KINDS

    names = [f"{kind.__name__}({', '.join(kind.parameters)})" for kind in KINDS.values() if kind.currency]
    return checks.either(names)
