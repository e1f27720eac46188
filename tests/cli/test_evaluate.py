"""Syntax tree to loss: every name means the function of the same name in `dalenius.losses`."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect

import pytest

import dalenius as dp
from dalenius.cli.evaluate import evaluate, free_names, read_loss
from dalenius.cli.grammar import MAX_DEPTH, parse
from dalenius.cli.problems import GrammarError
from dalenius.cli.vocabulary import FORMS, REFUSED, Sort
from dalenius.errors import InvalidParameter

L = dp.losses
SORTS = {
    "float": Sort.NUMBER,
    "int": Sort.WHOLE,
    "int | None": Sort.WHOLE,
    "Loss": Sort.LOSS,
    "Sequence[float]": Sort.LIST,
    "Adjacency": Sort.ADJACENCY,
}

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
    "expo(epsilon=0.5)": L.bounded_range(0.5),
    "zcdp(0.5)": L.zcdp(0.5),
    "gdp(mu=0.5)": L.gdp(0.5),
    "from_pair([0.9, 0.1], [0.5, 0.5])": L.from_pair([0.9, 0.1], [0.5, 0.5]),
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
    "to_replace_one(gdp(1))": L.to_replace_one(L.gdp(1.0)),
    "to_adjacency(gdp(1), replace_one)": L.to_replace_one(L.gdp(1.0)),
    "laplace(1) + gdp(1) * 3": L.laplace(1) + L.gdp(1) * 3,
    "(laplace(1) + gdp(1)) * 3": (L.laplace(1) + L.gdp(1)) * 3,
    "laplace(1) * 0": L.Loss.zero(),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_means_the_python_call(text: str) -> None:
    assert read_loss(text) == MEANINGS[text]


def test_the_issue_example() -> None:
    loss = read_loss("poisson(0.01, gaussian(1.0)) * 10000 + laplace(2)")
    assert loss == L.poisson_sampled(L.gaussian(1.0), 0.01) * 10_000 + L.laplace(2)
    assert read_loss(loss.expression) == loss


def test_every_public_constructor_is_written_or_refused_with_a_reason() -> None:
    assert {form.constructor for form in FORMS.values()} | set(REFUSED) == set(L.__all__)


@pytest.mark.parametrize("name", FORMS)
def test_parameters_are_those_of_the_function(name: str) -> None:
    form = FORMS[name]
    signature = inspect.signature(getattr(L, form.constructor)).parameters
    if form.parameters[0].sort is Sort.LOSSES:
        assert [p.kind for p in signature.values()] == [inspect.Parameter.VAR_POSITIONAL]
        return
    # `bound` chooses a proof, in words; text has only the default one.
    assert {p.python_name for p in form.parameters} == set(signature) - {"bound"}
    for parameter in form.parameters:
        python = signature[parameter.python_name]
        assert parameter.optional == (python.default is not inspect.Parameter.empty)
        assert parameter.sort is SORTS[str(python.annotation)]
    if form.name == form.constructor:
        assert [p.name for p in form.parameters] == [word for word in signature if word != "bound"]


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
        ("laplace(1) + gaussian(sensitivity=2, sigma=0)", "sigma is 0.0", "sigma=0"),
        ("expo(-1)", "epsilon is -1.0", "-1"),
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
        ("poisson(0.1)", "poisson lacks loss; write poisson(rate, loss)", "poisson(0.1)"),
        ("gaussian()", "lacks sigma", "gaussian()"),
        ("laplace(gdp(1))", "takes no such argument as a loss", "gdp(1)"),
        ("laplace([1])", "takes no such argument as a list", "[1]"),
        ("laplace(1, 2, 3)", "a number too many", "3"),
        ("laplace(1, scale=2)", "scale is given twice", "scale=2"),
        ("laplace(sensitivity=1, 2)", "before the named ones", "2"),
        ("parallel(losses=gdp(1))", "no parameter", "losses=gdp(1)"),
        ("parallel()", "parallel lacks losses", "parallel()"),
        ("from_pair([0.5], [1])", "sums to 0.5", "from_pair([0.5], [1])"),
        ("from_pair([], [])", "non-empty", "from_pair([], [])"),
        ("gdp(1, replace_one) + gdp(1)", "they cannot be added", "gdp(1)"),
        ("poisson(0.1, gdp(1, replace_one))", "add/remove", "poisson(0.1, gdp(1, replace_one))"),
        ("objective_perturbation(1, 1, 1, 1)", "ridge > smoothness", "1"),
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
    assert [name.name for name in free_names(tree)] == ["s", "t"]
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


def test_deep_nesting_is_computed() -> None:
    levels = MAX_DEPTH - 1
    text = "group(1, " * levels + "gdp(1)" + ")" * levels
    assert read_loss(text) == L.gdp(1.0)


@pytest.mark.parametrize("module", ["grammar", "evaluate", "promises"])
def test_docstring_examples(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"dalenius.cli.{module}"))
    assert result.attempted > 0
    assert result.failed == 0
