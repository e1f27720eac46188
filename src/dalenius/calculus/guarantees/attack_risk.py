"""AttackRisk: promises in the language of attacks. Each kind is a file of its own; this is what they share.

The attacker knows everybody else's record and the mechanism, sees the release, and says whether a person is in the data
(under replace-one: which of two records is). The best attack there can be is meant, in either direction: whether a
person is in, or is out. Proofs of what is said here: docs/proofs/attack-risk.md.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import MISSING, fields, replace
from typing import Any, ClassVar, NoReturn, Self

from dalenius.calculus.guarantees.amounts import declared, exactly_at_most
from dalenius.calculus.guarantees.approx import ApproxDP
from dalenius.calculus.guarantees.filter import Reserve
from dalenius.calculus.guarantees.gdp import GDP
from dalenius.calculus.guarantees.guarantee import Guarantee, budgets
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.errors import InvalidParameter


class AttackRisk(Guarantee):
    """How well the best attack on a person may do.

    What is promised is said by the names of the numbers:

    - `AttackRisk(advantage=a)`: the rate of true alarms of every attack minus its rate of false ones is at most a;
    - `AttackRisk(tpr=t, fpr=a)`: an attack with at most a rate a of false alarms has at most a rate t of true ones;
    - `AttackRisk(auc=c)`: the area under the curve of true against false alarms is at most c;
    - `AttackRisk(posterior=q, prior=p, delta=d)`: who was p sure becomes at most q sure, but for a chance of d (0 if it
      is left out). How that is meant is in `AttackPosterior`.

    Such a promise calibrates noise, and a loss keeps it or not. Accounts are opened with `as_budget()`.

    Parameters
    ----------
    *values
        Refused: every number has a name.
    advantage
        The largest difference of the two rates, in [0, 1).
    tpr
        The rate of true alarms, between 0 and 1; blind guessing has tpr = fpr.
    fpr
        The rate of false alarms, between 0 and 1.
    auc
        The area, in [0.5, 1); blind guessing has 0.5.
    posterior
        How sure the attacker may become, between 0 and 1.
    prior
        How sure they were, between 0 and 1.
    delta
        The chance of a failure, in [0, 1).

    Raises
    ------
    InvalidParameter
        If these names together are no promise, or a number is outside what is allowed.

    Examples
    --------
    >>> import dalenius as dp
    >>> promise = dp.AttackRisk(tpr=0.05, fpr=0.01)
    >>> promise.holds(dp.losses.gaussian(sigma=2.0)), promise.holds(dp.losses.gaussian(sigma=1.0))
    (True, False)
    >>> round(dp.calibrate(lambda s: dp.losses.gaussian(sigma=s), dp.AttackRisk(advantage=0.1)), 4)
    3.9789
    """

    leading: ClassVar = None
    name: ClassVar = "AttackRisk"

    def __new__(
        cls,
        *values: object,
        advantage: float | None = None,
        tpr: float | None = None,
        fpr: float | None = None,
        auc: float | None = None,
        posterior: float | None = None,
        prior: float | None = None,
        delta: float | None = None,
    ) -> Self:
        kind: type[Any] = cls
        if cls is AttackRisk:
            names = ("advantage", "tpr", "fpr", "auc", "posterior", "prior", "delta")
            numbers = zip(names, (advantage, tpr, fpr, auc, posterior, prior, delta), strict=True)
            given = {name for name, value in numbers if value is not None}
            if values:
                raise InvalidParameter(
                    f"AttackRisk was given {checks.shown(values[0])} without a name; write what it promises, such as "
                    "AttackRisk(advantage=0.1)."
                )
            kind = _kind(given)
        made: Self = object.__new__(kind)
        return made

    def __repr__(self) -> str:
        return f"AttackRisk({', '.join(f'{name}={value!r}' for name, value in self.numbers.items())})"

    @abstractmethod
    def as_budget(self) -> GDP | ApproxDP:
        """A promise that an account can be opened with and that implies this one, with next to nothing to spare.

        Examples
        --------
        >>> import dalenius as dp
        >>> round(dp.AttackRisk(auc=0.6).as_budget().mu, 6)
        0.358287
        """

    def filter(self, adjacency: Adjacency = ADD_REMOVE, reserve: Reserve = 0) -> NoReturn:
        raise InvalidParameter(
            f"the budget is {self!r}; it must be {budgets()}. Use its as_budget(), which implies it: "
            f"{self.as_budget()!r}."
        )

    def divided(self, parts: float) -> Guarantee:
        return self.as_budget().divided(parts)

    def of_size(self, size: float) -> GDP:
        return GDP(size)

    def noisier(self, share: float) -> Guarantee:
        return self.as_budget().noisier(share)

    def strict(self) -> Self:
        # The first number is the one that is promised: the others say under what circumstances.
        first = next(iter(self.parameters))
        most = exactly_at_most(declared(getattr(self, first)))
        return replace(self, **{first: most})  # type: ignore[type-var]


def _kind(given: set[str]) -> type[AttackRisk]:
    """The kind whose numbers have these names."""
    for kind in AttackRisk.__subclasses__():
        needed = {field.name for field in fields(kind) if field.default is MISSING}  # type: ignore[arg-type]
        if needed <= given <= set(kind.parameters):
            return kind
    forms = [", ".join(f"{name}=..." for name in kind.parameters) for kind in AttackRisk.__subclasses__()]
    raise InvalidParameter(
        f"AttackRisk was given {', '.join(sorted(given)) or 'no names'}; it takes "
        f"{checks.either([f'({form})' for form in forms])}."
    )
