"""Privacy losses: the elementary ones, and what sampling, grouping and splitting do to them."""

from dalenius.calculus.loss import Loss, from_json, total
from dalenius.calculus.losses.best_of import best_of, best_of_binomial, best_of_poisson
from dalenius.calculus.losses.bounded_range import bounded_range
from dalenius.calculus.losses.correlated import (
    banded_sampled,
    matrix_gaussian,
    toeplitz_gaussian,
    tree_gaussian,
)
from dalenius.calculus.losses.discrete import (
    approx,
    discrete_gaussian,
    from_pair,
    geometric,
    pure,
    randomized_response,
)
from dalenius.calculus.losses.discrete_gaussian_vector import discrete_gaussian_vector
from dalenius.calculus.losses.dp_accounting_events import from_dp_accounting
from dalenius.calculus.losses.gaussian import gaussian, gdp
from dalenius.calculus.losses.laplace import laplace
from dalenius.calculus.losses.mixture_of_gaussians import mixture_of_gaussians, poisson_sampled_group
from dalenius.calculus.losses.neighbours import group, parallel, to_adjacency, to_replace_one
from dalenius.calculus.losses.objective_perturbation import approximate_minima, objective_perturbation
from dalenius.calculus.losses.random_allocation import random_allocation
from dalenius.calculus.losses.renyi import rdp, zcdp
from dalenius.calculus.losses.sampling import cp, poisson_sampled, sampled_without_replacement
from dalenius.calculus.losses.shuffled import shuffled
from dalenius.calculus.losses.shuffled_batches import shuffled_batches
from dalenius.calculus.losses.skellam import discrete_gaussian_sum, skellam, skellam_vector
from dalenius.calculus.losses.staircase import staircase
from dalenius.calculus.losses.tradeoff import from_tradeoff
from dalenius.calculus.losses.truncated_poisson import truncated_poisson
from dalenius.calculus.losses.with_replacement import sampled_with_replacement

__all__ = [
    "Loss",
    "approx",
    "approximate_minima",
    "banded_sampled",
    "best_of",
    "best_of_binomial",
    "best_of_poisson",
    "bounded_range",
    "cp",
    "discrete_gaussian",
    "discrete_gaussian_sum",
    "discrete_gaussian_vector",
    "from_dp_accounting",
    "from_json",
    "from_pair",
    "from_tradeoff",
    "gaussian",
    "gdp",
    "geometric",
    "group",
    "laplace",
    "matrix_gaussian",
    "mixture_of_gaussians",
    "objective_perturbation",
    "parallel",
    "poisson_sampled",
    "poisson_sampled_group",
    "pure",
    "random_allocation",
    "randomized_response",
    "rdp",
    "sampled_with_replacement",
    "sampled_without_replacement",
    "shuffled",
    "shuffled_batches",
    "skellam",
    "skellam_vector",
    "staircase",
    "to_adjacency",
    "to_replace_one",
    "toeplitz_gaussian",
    "total",
    "tree_gaussian",
    "truncated_poisson",
    "zcdp",
]
