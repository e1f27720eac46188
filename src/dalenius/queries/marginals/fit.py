"""The distribution that fits noisy marginals: of those that fit about as well, the one of largest entropy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from dalenius.core.arrays import Reals
from dalenius.queries.marginals.graphical_model import GraphicalModel
from dalenius.queries.marginals.groups import Groups, first_values, merged, spread
from dalenius.queries.marginals.junction_tree import JunctionTree, Scope
from dalenius.queries.marginals.shrinkage import centred


@dataclass(frozen=True)
class Target:
    """A noisy marginal: counts, and the standard deviation of each."""

    scope: Scope
    counts: Reals
    sigma: float
    groups: Groups | None = None
    """Of the values of each column, where the counts are those of groups."""
    beyond_margins: bool = False
    """Whether only what is not in the margins is fitted: of a table of two columns whose margins are known better."""

    def of_model(self, table: Reals) -> Reals:
        """From a table of the scope, the part that is compared with the counts."""
        found = table if self.groups is None else merged(table, self.groups)
        return centred(found) if self.beyond_margins else found

    def potential(self, theta: Reals) -> Reals:
        """The transpose of `of_model`: what theta adds to the log density."""
        found = centred(theta) if self.beyond_margins else theta
        return found if self.groups is None else spread(found, self.groups)

    def read(self, potential: Reals) -> Reals:
        """The theta that a potential came from."""
        return potential if self.groups is None else potential[np.ix_(*first_values(self.groups))]


@dataclass(frozen=True)
class Fitted:
    """A model of a table of `total` rows, with the potentials that it came from."""

    model: GraphicalModel
    potentials: Mapping[Scope, Reals]
    total: float

    def counts(self, scope: Scope) -> Reals:
        """The expected counts of a marginal."""
        return self.model.marginal(scope) * self.total


def fit(
    tree: JunctionTree,
    targets: Sequence[Target],
    total: float,
    start: Mapping[Scope, Reals],
    steps: int,
    ridge: Callable[[Target], float],
) -> Fitted:
    """Minimise KL(p || uniform) + sum over targets of |total M p - y|^2 / (2 c total sigma^2), by its dual.

    M is a marginal, or its sums over groups of values, or what is not in the margins of that.

    The optimum is p proportional to exp(sum M_r^T theta_r), where theta_r minimises the convex

        total log Z(theta) - sum <theta_r, y_r> + 1/2 sum c_r sigma_r^2 |theta_r|^2,

    a smooth function whose value and gradient take one calibration of the tree (L-BFGS). `start` has potentials to
    begin with; those of a scope that is left out begin at 0. `ridge` gives c for a target: the entropy counts the more,
    the larger it is.
    """
    shapes = [t.counts.shape for t in targets]
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    wanted = [
        centred(t.counts) if t.beyond_margins else t.counts + (total - t.counts.sum()) / t.counts.size
        for t in targets
    ]
    weight = np.concatenate([np.full(t.counts.size, ridge(t)) for t in targets])
    scale = [max(t.sigma, 1.0) for t in targets]  # the variables are theta sigma, which makes the ridge round

    def split(x: Reals) -> dict[Scope, Reals]:
        found: dict[Scope, Reals] = {}
        for k, target in enumerate(targets):
            theta = target.potential(x[ends[k] : ends[k + 1]].reshape(shapes[k]) / scale[k])
            found[target.scope] = found[target.scope] + theta if target.scope in found else theta
        return found

    def value(x: Reals) -> tuple[float, Reals]:
        model = GraphicalModel.of(tree, split(x))
        height = total * model.log_partition + float(weight * x @ x) / 2
        slopes = np.empty_like(x)
        for k, target in enumerate(targets):
            part = slice(ends[k], ends[k + 1])
            residual = (target.of_model(total * model.marginal(target.scope)) - wanted[k]).ravel()
            height -= float(x[part] @ wanted[k].ravel()) / scale[k]
            slopes[part] = residual / scale[k] + weight[part] * x[part]
        return height / total, slopes / total

    first = np.zeros(ends[-1])
    seen: set[Scope] = set()
    for k, target in enumerate(targets):
        if target.scope in start and target.scope not in seen:
            first[ends[k] : ends[k + 1]] = (target.read(start[target.scope]) * scale[k]).ravel()
        seen.add(target.scope)
    found = minimize(
        value,
        first,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-9},
    )
    potentials = split(found.x)
    return Fitted(GraphicalModel.of(tree, potentials), potentials, total)
