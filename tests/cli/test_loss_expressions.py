"""Text to loss: every name means the function of the same name in `dalenius.losses`, and errors point at the place."""

from __future__ import annotations

import ast
import contextlib
import re
import sys

import pytest

import dalenius as dp
from dalenius.cli.loss_expressions import (
    MAX_COUNT,
    MAX_LENGTH,
    evaluate,
    forms,
    free_names,
    parse,
    read_loss,
    signature,
)
from dalenius.cli.problems import WIDTH, GrammarError, single_number
from dalenius.errors import InvalidParameter

L = dp.losses

MEANINGS = {
    "pure(1)": L.pure(1.0),
    "approx(1.0, 1e-5)": L.approx(1.0, 1e-5),
    "randomized_response(1, 4)": L.randomized_response(1.0, 4),
    "rr(1, k=4)": L.randomized_response(1.0, 4),
    "laplace(2)": L.laplace(2.0),
    "laplace(scale=2, sensitivity=3)": L.laplace(2.0, 3.0),
    "geometric(2, 3)": L.geometric(2.0, 3),
    "gaussian(sigma=1, adjacency=replace_one)": L.gaussian(1.0, adjacency=dp.REPLACE_ONE),
    "gaussian(1, REPLACE_ONE)": L.gaussian(1.0, adjacency=dp.REPLACE_ONE),
    "gaussian(1, 2, add_remove)": L.gaussian(1.0, 2.0),
    "discrete_gaussian(3, 2)": L.discrete_gaussian(3.0, 2),
    "bounded_range(0.5)": L.bounded_range(0.5),
    "expo(0.5)": L.bounded_range(0.5),
    "zcdp(0.5)": L.zcdp(0.5),
    "gdp(mu=0.5)": L.gdp(0.5),
    "from_pair([0.9, 0.1], [0.5, 0.5])": L.from_pair([0.9, 0.1], [0.5, 0.5]),
    "toeplitz_gaussian(5, 1000, bands=8, participations=4, separation=9)": L.toeplitz_gaussian(
        5.0, 1000, bands=8, participations=4, separation=9
    ),
    "toeplitz_gaussian(2, 9, [1, 0.5], epoch=3, participations=3)": L.toeplitz_gaussian(
        2.0, 9, [1.0, 0.5], participations=3, epoch=3
    ),
    "tree_gaussian(3, 100)": L.tree_gaussian(3.0, 100),
    "banded_sampled(1, 100, 0.1, [1, 0.5])": L.banded_sampled(1.0, 100, 0.1, [1.0, 0.5]),
    "from_pair(q=[1, 0], p=[0.5, 0.5])": L.from_pair([0.5, 0.5], [1, 0]),
    "objective_perturbation(5, 20, 1, 1)": L.objective_perturbation(5, 20, 1, 1),
    "objective_perturbation(5, 20, 1, 1, dimension=3)": L.objective_perturbation(5, 20, 1, 1, 3),
    "approximate_minima(5, 20, 1, 1, 0.01, 0.15)": L.approximate_minima(5, 20, 1, 1, 0.01, 0.15),
    "poisson(0.01, gaussian(1))": L.poisson_sampled(L.gaussian(1.0), 0.01),
    "poisson(gaussian(1), 0.01)": L.poisson_sampled(L.gaussian(1.0), 0.01),
    "poisson_sampled(gaussian(1), 0.01)": L.poisson_sampled(L.gaussian(1.0), 0.01),
    "poisson_sampled(0.01, gaussian(1))": L.poisson_sampled(L.gaussian(1.0), 0.01),
    "poisson(rate=0.01, loss=gaussian(1))": L.poisson_sampled(L.gaussian(1.0), 0.01),
    "poisson(gaussian(1), rate=0.01)": L.poisson_sampled(L.gaussian(1.0), 0.01),
    "poisson(0.1, 2 * gaussian(1))": L.poisson_sampled(L.gaussian(1.0) * 2, 0.1),
    "subset(10, 1000, gdp(1, replace_one))": L.sampled_without_replacement(
        L.gdp(1, dp.REPLACE_ONE), 10, 1000
    ),
    "sampled_without_replacement(gdp(1, replace_one), 10, 1000)": L.sampled_without_replacement(
        L.gdp(1, dp.REPLACE_ONE), 10, 1000
    ),
    "cp(pure(1, replace_one), 0.1)": L.cp(L.pure(1.0, dp.REPLACE_ONE), 0.1),
    "group(gdp(0.5), 3)": L.group(L.gdp(0.5), 3),
    "group(3, gdp(0.5))": L.group(L.gdp(0.5), 3),
    "parallel(gdp(0.5), gdp(1), gdp(0.2))": L.parallel(L.gdp(0.5), L.gdp(1.0), L.gdp(0.2)),
    "poisson(0.01, gaussian(1), replace_one)": L.poisson_sampled(L.gaussian(1.0), 0.01, dp.REPLACE_ONE),
    "mixture_of_gaussians(1, [0, 2], [0.9, 0.1])": L.mixture_of_gaussians(1.0, [0.0, 2.0], [0.9, 0.1]),
    "random_allocation(4, 10)": L.random_allocation(4.0, 10),
    "random_allocation(4, 30, 3)": L.random_allocation(4.0, 30, 3),
    "truncated_poisson(1, 0.1, 50, 20)": L.truncated_poisson(1.0, 0.1, 50, 20),
    "shuffled_batches(1, 20)": L.shuffled_batches(1.0, 20),
    "shuffled_batches(1, 20, add_remove)": L.shuffled_batches(1.0, 20, adjacency=dp.ADD_REMOVE),
    "sampled_with_replacement(gaussian(1, replace_one), 5, 50)": L.sampled_with_replacement(
        L.gaussian(1.0, adjacency=dp.REPLACE_ONE), 5, 50
    ),
    "poisson_sampled_group(1, 0.01, 3)": L.poisson_sampled_group(1.0, 0.01, 3),
    "matrix_gaussian(2, [[1, 0], [-0.5, 1]], 2, epoch=2)": L.matrix_gaussian(
        2.0, [[1, 0], [-0.5, 1]], 2, epoch=2
    ),
    "best_of(pure(0.5), 10)": L.best_of(L.pure(0.5), 10.0),
    "best_of(10, pure(0.5), shape=0)": L.best_of(L.pure(0.5), 10.0, 0.0),
    "best_of_poisson(gdp(0.5), 20)": L.best_of_poisson(L.gdp(0.5), 20.0),
    "best_of_binomial(gdp(0.5), 200, 0.1)": L.best_of_binomial(L.gdp(0.5), 200, 0.1),
    "shuffled(rr(1, replace_one), 1000)": L.shuffled(
        L.randomized_response(1.0, adjacency=dp.REPLACE_ONE), 1000
    ),
    "skellam(9, 2)": L.skellam(9.0, 2),
    "skellam_vector(100, 10, 60)": L.skellam_vector(100.0, 10.0, 60.0),
    "discrete_gaussian_sum(2, 10, 3, dimension=4)": L.discrete_gaussian_sum(2.0, 10, 3.0, 4),
    "discrete_gaussian_vector(5, 3)": L.discrete_gaussian_vector(5.0, 3),
    "staircase(1, 0.4)": L.staircase(1.0, 0.4),
    "to_replace_one(gdp(1))": L.to_replace_one(L.gdp(1.0)),
    "to_adjacency(gdp(1), replace_one)": L.to_replace_one(L.gdp(1.0)),
    "laplace(1) + gdp(1) * 3": L.laplace(1) + L.gdp(1) * 3,
    "(laplace(1) + gdp(1)) * 3": (L.laplace(1) + L.gdp(1)) * 3,
    "laplace(1) * 0": L.Loss.zero(),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_means_the_python_call(text: str) -> None:
    assert read_loss(text) == MEANINGS[text]
    if not text.startswith("from_pair") and "* 0" not in text:
        assert read_loss(MEANINGS[text].expression) == MEANINGS[text]


def test_every_word_is_tried() -> None:
    tried = {name for text in MEANINGS for name in re.findall(r"(\w+)\(", text)}
    assert set(forms()) <= tried


def test_the_issue_example() -> None:
    loss = read_loss("poisson(0.01, gaussian(1.0)) * 10000 + laplace(2)")
    assert loss == L.poisson_sampled(L.gaussian(1.0), 0.01) * 10_000 + L.laplace(2)
    assert read_loss(loss.expression) == loss


REFUSED = ("Loss", "from_dp_accounting", "from_json", "from_tradeoff", "rdp", "total")


def test_every_public_constructor_is_written_or_refused_with_a_reason() -> None:
    assert set(L.__all__) - set(forms()) == set(REFUSED)


def test_signatures_are_those_of_the_functions() -> None:
    assert signature("laplace") == "laplace(scale[, sensitivity, adjacency])"
    assert signature("poisson") == "poisson(loss, rate[, adjacency])"
    assert signature("parallel") == "parallel(loss, loss, ...)"
    assert signature("group") == "group(loss, size)"
    assert signature("objective_perturbation").endswith("smoothness[, dimension])")


@pytest.mark.parametrize("name", REFUSED)
def test_refused_names_say_why(name: str) -> None:
    with pytest.raises(GrammarError, match=r"cannot be written|is written with"):
        read_loss(f"{name}(1)")


@pytest.mark.parametrize(
    ("text", "message", "under"),
    [
        ("poisson(0.1, gausian(1))", 'did you mean "gaussian"?', "gausian"),
        ("Gaussian(1)", 'did you mean "gaussian"?', "Gaussian"),
        ("qqqq(1)", "known are approx, ", "qqqq"),
        ("gaussian(1, sensitvity=2)", 'did you mean "sensitivity"?', "sensitvity=2"),
        ("gaussian(1, foo=2)", "write gaussian(sigma[, sensitivity, adjacency])", "foo=2"),
        ("gaussian(-1)", "sigma is -1.0; it must be", "-1"),
        ("laplace(1) + gaussian(sensitivity=2, sigma=0)", "sigma is 0.0", "0"),
        ("expo(-1)", "eta is -1.0", "-1"),
        ("poisson(1.5, gdp(1))", "rate is 1.5; it must be a number in [0, 1]", "1.5"),
        ("approx(1, 1)", "delta is 1.0; it must be a number in [0, 1)", "1"),
        ("rr(1, 2.5)", "k is 2.5; it must be a whole number", "2.5"),
        ("geometric(1, 1e12)", "at most 1000000 is accepted", "1e12"),
        ("gaussian(nan)", "finite numbers", "nan"),
        ("gaussian(Inf)", "finite numbers", "Inf"),
        ("gaussian(sigma)", "has no value", "sigma"),
        ("gaussian(1, replace_on)", 'did you mean "replace_one"?', "replace_on"),
        ("gaussian(laplace)", "laplace needs its parameters in brackets", "laplace"),
        ("gaussian(add_remove)", "lacks sigma", "gaussian(add_remove)"),
        ("gaussian(sigma=add_remove)", "must be a number", "sigma=add_remove"),
        ("gaussian(1, adjacency=1)", "must be add_remove or replace_one", "adjacency=1"),
        ("poisson(0.1)", "poisson lacks loss; write poisson(loss, rate[, adjacency])", "poisson(0.1)"),
        ("gaussian()", "lacks sigma", "gaussian()"),
        ("laplace(gdp(1))", "takes no such argument", "gdp(1)"),
        ("laplace([1])", "takes no such argument", "[1]"),
        ("matrix_gaussian(1, [1, 2])", "takes no such argument", "[1, 2]"),
        ("matrix_gaussian(1, strategy=[1, 2])", "must be a matrix such as", "strategy=[1, 2]"),
        ("matrix_gaussian(1, [[1], [1, 2]])", "must be a matrix of numbers", "[[1], [1, 2]]"),
        ("matrix_gaussian(1, [[[1]]])", "a number is expected", "[1]"),
        ("from_pair([[1]], [[1]])", "takes no such argument", "[[1]]"),
        ("laplace(1, 2, 3)", "one argument too many", "3"),
        ("laplace(1, scale=2)", "scale is given twice", "scale=2"),
        ("parallel(losses=gdp(1))", "no parameter", "losses=gdp(1)"),
        ("parallel()", "parallel lacks losses", "parallel()"),
        ("from_pair([0.5], [1])", "sums to 0.5", "from_pair([0.5], [1])"),
        ("from_pair([], [])", "non-empty", "from_pair([], [])"),
        ("gdp(1, replace_one) + gdp(1)", "they cannot be added", "gdp(1)"),
        ("poisson(0.1, gdp(1, replace_one))", "add/remove", "poisson(0.1, gdp(1, replace_one))"),
        ("objective_perturbation(1, 1, 1, 1)", "ridge > smoothness", "objective_perturbation(1, 1, 1, 1)"),
        ("laplace(1) * 1e10 * 1e10", "more than 1e15 repetitions", "1e10"),
    ],
)
def test_errors_name_the_fix_and_point_at_it(text: str, message: str, under: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read_loss(text)
    assert message in caught.value.message
    assert text[caught.value.start : caught.value.end] == under


def test_variables() -> None:
    tree = parse("poisson(0.01, gaussian(s)) * 10 + laplace(s, adjacency=add_remove) + gdp(t)")
    assert [name.id for name in free_names(tree)] == ["s", "t"]
    found = evaluate(tree, {"s": 2.0, "t": 0.5})
    assert found == L.poisson_sampled(L.gaussian(2.0), 0.01) * 10 + L.laplace(2.0) + L.gdp(0.5)
    with pytest.raises(GrammarError, match='"t" has no value'):
        evaluate(tree, {"s": 2.0})


def test_words_with_a_meaning_are_no_variables() -> None:
    assert (
        free_names(parse("gaussian(nan) + gaussian(laplace) + gaussian(1, ADD_REMOVE) + gaussian(rdp)")) == ()
    )


def test_a_whole_number_cannot_be_a_variable() -> None:
    with pytest.raises(GrammarError, match="k must be written as a whole number"):
        evaluate(parse("rr(1, k)"), {"k": 2.0})


@pytest.mark.parametrize("text", ["gaussian(1e-300)", "geometric(1e-300)", "pure(1e300)", "rr(1e300)"])
def test_extreme_numbers_are_refused_or_accepted_but_never_crash(text: str) -> None:
    with contextlib.suppress(InvalidParameter):
        read_loss(text)


def test_deep_nesting_is_computed_or_refused() -> None:
    assert read_loss("group(1, " * 90 + "gdp(1)" + ")" * 90) == L.gdp(1.0)
    for opening in ("(", "f(", "f(a="):
        with pytest.raises(GrammarError):
            parse(opening * 2000)


def test_a_nearly_full_stack_is_no_recursion_error() -> None:
    text = "group(1, " * 90 + "gdp(1)" + ")" * 90
    read_loss("gdp(1)")  # the calculus is loaded
    depth, frame = 0, sys._getframe().f_back
    while frame is not None:
        frame, depth = frame.f_back, depth + 1

    def at(left: int) -> None:
        if left > 0:
            at(left - 1)
        else:
            with pytest.raises(GrammarError, match="too deeply"):
                read_loss(text)

    # 150 calls are left: enough to report, far fewer than the text needs.
    at(sys.getrecursionlimit() - depth - 150)


def test_long_chains_need_no_recursion() -> None:
    assert read_loss("+".join(["gdp(1)"] * 500)) == L.gdp(1.0) * 500
    assert read_loss("gdp(1)" + "*1" * 500) == L.gdp(1.0)


@pytest.mark.parametrize(
    "text", ["2 * gdp(1) * 3", "2*3*gdp(1)", "gdp(1) * 2 * 3", " 2\n*\tgdp( 1 , ) * 3 ", "2 * (gdp(1)) * 3.0"]
)
def test_counts_stand_on_either_side(text: str) -> None:
    assert read_loss(text) == L.gdp(1.0) * 6


@pytest.mark.parametrize(("text", "value"), [("10_000", 10000), ("1e4", 10000), ("10000.", 10000), ("0", 0)])
def test_whole_numbers(text: str, value: int) -> None:
    assert read_loss(f"gdp(1) * {text}") == L.gdp(1.0) * value


@pytest.mark.parametrize(
    ("text", "message", "under"),
    [
        ("gaussian(1) * 2.5", "must be a whole number", "2.5"),
        ("gaussian(1) * -2", "must be a whole number", "-2"),
        ("gaussian(1) * gaussian(2)", "whole numbers of repetitions", "gaussian(2)"),
        ("gaussian(1) ** 2", "not a loss", "gaussian(1) ** 2"),
        ("gaussian(1) - laplace(2)", "not a loss", "gaussian(1) - laplace(2)"),
        ("gaussian(1) * 1e16", "from 0 to 1e15", "1e16"),
        ("3", "not a loss", "3"),
        ("True", "a loss", "True"),
        ("gaussian(2 * 3)", "takes no such argument", "2 * 3"),
        ("gaussian", "parameters in brackets", "gaussian"),
        ("gaussian(0x10)", "is not a number", "0x10"),
        ("gaussian(1j)", "a number is expected", "1j"),
        ("gaussian(None)", "a number is expected", "None"),
        ("gaussian(1e999)", "too large", "1e999"),
        ("gaussian(1e-999)", "too near to 0", "1e-999"),
        ("gaussian(--1)", "a number is expected", "--1"),
        ("gaussian(1) # twice", "has no meaning here", "#"),
        ("gaussian(1) § 2", "has no meaning here", "§"),
        ("gaussian(1)\x00", "has no meaning here", "\x00"),
        ("gaussian('1')", "has no meaning here", "'"),
        ("gaussian(*x)", "takes no such argument", "*x"),
        ("gaussian(1).epsilon(1)", "not a loss", "gaussian(1).epsilon(1)"),
        ("__import__(1)", "is not a loss known here", "__import__"),
    ],
)
def test_what_is_not_the_language_is_pointed_at(text: str, message: str, under: str) -> None:
    with pytest.raises(GrammarError) as caught:
        read_loss(text)
    assert message in caught.value.message
    assert text[caught.value.start : caught.value.end] == under


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "gaussian(1) +", "gaussian(1) *  ", "2 *", "lambda: 1", "x if y else z", "gaussian(,)"),
        *("gaussian(1))", "gaussian(1) gaussian(2)", "poisson(0.01, gaussian(1)", "from_pair([0.5, 0.5"),
        *("laplace(sensitivity=1, 2)", "gaussian(1.2.3)", "gaussian(1__0)", "gaussian(1e)", "f(a=b=1)"),
    ],
)
def test_what_is_no_expression(text: str) -> None:
    """Said in the words of Python's parser, which differ from version to version."""
    with pytest.raises(GrammarError) as caught:
        read_loss(text)
    assert 0 <= caught.value.start <= len(text)


def test_only_trees_that_are_listed_are_evaluated() -> None:
    """Whatever Python can write, only calls of known names are called: nothing reaches attributes or items."""
    for text in ("gaussian[0](1)", "(gaussian)(1).add", "gaussian(1)[0]", "[gaussian(1)]", "gaussian(**x)"):
        with pytest.raises(GrammarError):
            read_loss(text)
    assert isinstance(parse("gdp(1)").root, ast.Call)


def test_errors_are_value_errors() -> None:
    assert issubclass(GrammarError, InvalidParameter)
    assert issubclass(GrammarError, ValueError)


def test_a_long_text_is_shown_around_the_place() -> None:
    with pytest.raises(GrammarError, match="no meaning") as caught:
        parse("gdp(1) + " * 100 + "gdp(!)" + " + gdp(1)" * 100)
    assert all(len(line) <= WIDTH + 10 for line in str(caught.value).split("\n")[1:])


def test_length_is_limited() -> None:
    parse("gdp(1)" + " " * (MAX_LENGTH - 6))
    with pytest.raises(GrammarError, match="characters"):
        parse("gdp(1)" + " " * (MAX_LENGTH - 5))


def test_single_number() -> None:
    assert single_number(" 1e-5 ") == 1e-5
    for text in ("", "1 2", "x", "nan", "inf", "--1", "1,2"):
        with pytest.raises(GrammarError):
            single_number(text)


def test_counts_stay_exact_as_floats() -> None:
    assert int(float(MAX_COUNT)) == MAX_COUNT
