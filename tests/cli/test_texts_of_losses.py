"""Text -> loss -> text -> loss: every function that can be written, for both neighbouring relations."""

from __future__ import annotations

import pytest

from dalenius.cli.loss_expressions import forms, read_loss

TEXTS = [
    "approx(0.5, 1e-6, {})",
    "bounded_range(0.7, {})",
    "discrete_gaussian(4, 3, {})",
    "discrete_gaussian_sum(2, 100, 10, {})",
    "discrete_gaussian_vector(3, 7, 4, {})",
    "gaussian(2, 1.5, {})",
    "gdp(0.3, {})",
    "geometric(3, 4, {})",
    "laplace(2, {})",
    "matrix_gaussian(2, [[1, 0], [0.5, 1]], {})",
    "mixture_of_gaussians(1, [0, 1], [0.5, 0.5], {})",
    "poisson_sampled(gaussian(1), 0.01, {})",
    "poisson_sampled(laplace(1), 0.01, {})",
    "poisson_sampled_group(1, 0.01, 3, {})",
    "pure(0.3, {})",
    "random_allocation(2, 4, {})",
    "randomized_response(1, 5, {})",
    "shuffled_batches(1, 100, {})",
    "skellam(4, 3, {})",
    "skellam_vector(100, 2, 3, {})",
    "staircase(1, 0.3, {})",
    "toeplitz_gaussian(2, 8, {})",
    "tree_gaussian(2, 8, {})",
    "truncated_poisson(1, 0.01, 1000, 50, {})",
    "zcdp(0.1, {})",
]
NESTED = [
    "group(gaussian(2, replace_one), 2)",
    "to_replace_one(gaussian(1)) + shuffled_batches(1, 10)",
    "sampled_without_replacement(laplace(1, replace_one), 1, 10) * 3",
    "sampled_with_replacement(gaussian(1, replace_one), 2, 10)",
    "shuffled(randomized_response(1, replace_one), 100)",
    "best_of_poisson(gaussian(2, replace_one), 3)",
    "cp(gaussian(1, replace_one), 0.5) + pure(1, replace_one) * 2",
]


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_loss_is_the_one_that_its_text_says(text: str, relation: str) -> None:
    loss = read_loss(text.format(relation))
    again = read_loss(loss.expression)
    assert again == loss
    assert again.adjacency is loss.adjacency
    assert again.expression == loss.expression


@pytest.mark.parametrize("text", NESTED)
def test_nested(text: str) -> None:
    loss = read_loss(text)
    assert read_loss(loss.expression) == loss
    assert repr(loss).count("replace_one") >= text.count("replace_one")


def test_every_function_with_a_relation_is_here() -> None:
    """Those that are left out have no text of their own: an open list, aliases."""
    related = {name for name, parameters in forms().items() if any(p.name == "adjacency" for p in parameters)}
    here = {text.split("(")[0] for text in TEXTS}
    assert related - here <= {"poisson", "rr", "expo", "from_pair", "approximate_minima", "to_adjacency"}
