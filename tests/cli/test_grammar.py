"""Text to syntax tree: what is accepted, how it groups, and where errors point."""

from __future__ import annotations

import math
import sys

import pytest

from dalenius.cli.grammar import MAX_COUNT, MAX_DEPTH, parse
from dalenius.cli.problems import WIDTH, GrammarError
from dalenius.cli.syntax import Call, Name, Number, Numbers, Product, Sum
from dalenius.cli.tokens import MAX_LENGTH, single_number
from dalenius.errors import InvalidParameter


def pointed(text: str) -> tuple[str, str]:
    """The message, and the part of the text the carets stand under, read off the printed error."""
    with pytest.raises(GrammarError) as caught:
        parse(text)
    message, line, carets = str(caught.value).split("\n")
    start = carets.index("^")
    return message, line[start : start + carets.count("^")]


def test_issue_example() -> None:
    root = parse("poisson(0.01, gaussian(1.0)) * 10000 + laplace(2)").root
    assert isinstance(root, Sum)
    product, laplace = root.parts
    assert isinstance(product, Product)
    assert [count.value for count in product.counts] == [10000]
    assert isinstance(product.factor, Call)
    assert product.factor.name == "poisson"
    rate, inner = (argument.value for argument in product.factor.arguments)
    assert rate == Number(0.01, 8, 12)
    assert isinstance(inner, Call)
    assert isinstance(laplace, Call)
    assert (laplace.start, laplace.open, laplace.end) == (39, 46, 49)


def test_times_binds_tighter_than_plus() -> None:
    root = parse("gdp(1) + gdp(2) * 3").root
    assert isinstance(root, Sum)
    assert isinstance(root.parts[0], Call)
    assert isinstance(root.parts[1], Product)


def test_brackets_group() -> None:
    root = parse("(gdp(1) + gdp(2)) * 3").root
    assert isinstance(root, Product)
    assert isinstance(root.factor, Sum)


@pytest.mark.parametrize(
    "text", ["2 * gdp(1) * 3", "2*3*gdp(1)", "gdp(1) * 2 * 3", " 2\n*\tgdp( 1 , ) * 3 ", "2 * (gdp(1)) * 3.0"]
)
def test_counts_stand_on_either_side(text: str) -> None:
    root = parse(text).root
    assert isinstance(root, Product)
    assert [count.value for count in root.counts] == [2, 3]


@pytest.mark.parametrize(("text", "value"), [("10_000", 10000), ("1e4", 10000), ("10000.", 10000), ("0", 0)])
def test_whole_numbers(text: str, value: int) -> None:
    root = parse(f"gdp(1) * {text}").root
    assert isinstance(root, Product)
    assert root.counts[0].value == value
    assert isinstance(root.counts[0].value, int)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.0", 1.0),
        ("1e-5", 1e-5),
        (".5", 0.5),
        ("1_0.2_5E+1", 102.5),
        ("-3", -3),
        ("0" * 5000 + "7", 7),
    ],
)
def test_numbers(text: str, value: float) -> None:
    root = parse(f"gdp({text})").root
    assert isinstance(root, Call)
    found = root.arguments[0].value
    assert isinstance(found, Number)
    assert found.value == value
    assert type(found.value) is type(value)


def test_arguments() -> None:
    root = parse("f(1, [0.9, 0.1], sigma, b=add_remove, c=2 * g(1))").root
    assert isinstance(root, Call)
    assert [argument.name for argument in root.arguments] == [None, None, None, "b", "c"]
    kinds = [type(argument.value) for argument in root.arguments]
    assert kinds == [Number, Numbers, Name, Name, Product]


def test_the_tree_is_frozen() -> None:
    root = parse("gdp(1)").root
    assert hash(root) == hash(parse("gdp(1)").root)
    with pytest.raises(AttributeError):
        root.name = "pure"  # type: ignore[misc, union-attr]


@pytest.mark.parametrize(
    ("text", "message", "under"),
    [
        ("gaussian(1))", 'found ")" where "+", "*" or the end', ")"),
        ("gaussian(1) gaussian(2)", 'found "gaussian"', "gaussian"),
        ("poisson(0.01, gaussian(1)", "never closed", "("),
        ("from_pair([0.5, 0.5", "never closed", "["),
        ("from_pair([0.5 0.5], [1, 0])", 'where "," or "]" is expected', "0.5"),
        ("gaussian(1 2)", '"," or ")" is expected', "2"),
        ("gaussian(,)", "a number, a loss", ","),
        ("gaussian(1) * 2.5", "must be whole", "2.5"),
        ("gaussian(1) * -2", "whole number of repetitions", "-"),
        ("gaussian(1) * gaussian(2)", "whole number of repetitions", "gaussian"),
        ("gaussian(1) * n", "no number of repetitions", "n"),
        ("gaussian(1) ** 2", 'found "*"', "*"),
        ("gaussian(1) * 1e16", "from 0 to 1e15", "1e16"),
        ("3", "alone is not a loss", "3"),
        ("gaussian(2 * 3)", "alone is not a loss", "3"),
        ("gaussian(sigma * 2)", "not computed here", "*"),
        ("gaussian(2 + 3)", "not computed here", "+"),
        ("gaussian", "parameters in brackets", "gaussian"),
        ("gaussian(1.2.3)", "is not a number", "1.2.3"),
        ("gaussian(1__0)", "is not a number", "1__0"),
        ("gaussian(1e)", "is not a number", "1e"),
        ("gaussian(0x10)", "is not a number", "0x10"),
        ("gaussian(1e999)", "too large", "1e999"),
        ("gaussian(1e-999)", "too near to 0", "1e-999"),
        ("gaussian(--1)", "a number is expected", "-"),
        ("gaussian(1) § 2", "has no meaning here", "§"),
        ("gaussian(1)\x00", "has no meaning here", "?"),
        ("gaussian('1')", "has no meaning here", "'"),
        ("gaussian(1).epsilon(1)", "has no meaning here", "."),
        ("f(a=b=1)", '"," or ")" is expected', "="),
    ],
)
def test_errors_point_at_the_place(text: str, message: str, under: str) -> None:
    said, shown = pointed(text)
    assert message in said
    assert shown == under


@pytest.mark.parametrize("text", ["", "   ", "gaussian(1) +", "gaussian(1) *  ", "2 *"])
def test_a_text_that_ends_early(text: str) -> None:
    with pytest.raises(GrammarError, match="the text ends where") as caught:
        parse(text)
    assert caught.value.start == len(text.rstrip())


def test_errors_are_value_errors() -> None:
    assert issubclass(GrammarError, InvalidParameter)
    assert issubclass(GrammarError, ValueError)


def test_a_long_text_is_shown_around_the_place() -> None:
    said, shown = pointed("gdp(1) + " * 100 + "gdp(!)" + " + gdp(1)" * 100)
    assert "no meaning" in said
    assert shown == "!"
    with pytest.raises(GrammarError) as caught:
        parse("gdp(1) + " * 100 + "gdp(!)")
    assert all(len(line) <= WIDTH + 10 for line in str(caught.value).split("\n"))


def test_length_is_limited() -> None:
    parse("gdp(1)" + " " * (MAX_LENGTH - 6))
    with pytest.raises(GrammarError, match="characters"):
        parse("gdp(1)" + " " * (MAX_LENGTH - 5))


def test_depth_is_limited() -> None:
    deepest = "(" * (MAX_DEPTH - 1) + "gdp(1)" + ")" * (MAX_DEPTH - 1)
    assert isinstance(parse(deepest).root, Call)
    for opening in ("(", "f(", "f(a="):
        with pytest.raises(GrammarError, match="nested more than"):
            parse(opening * 2000)


def test_a_nearly_full_stack_is_no_recursion_error() -> None:
    text = "f(" * MAX_DEPTH + "1" + ")" * MAX_DEPTH

    depth, frame = 0, sys._getframe().f_back
    while frame is not None:
        frame, depth = frame.f_back, depth + 1

    def at(left: int) -> None:
        if left > 0:
            at(left - 1)
        else:
            with pytest.raises(GrammarError, match="nested too deeply"):
                parse(text)

    # 200 calls are left: enough to report, far fewer than the text needs.
    at(sys.getrecursionlimit() - depth - 200)


def test_long_chains_need_no_recursion() -> None:
    assert isinstance(parse("gdp(1)" + "*1" * 4000).root, Product)
    assert isinstance(parse("+".join(["gdp(1)"] * 1400)).root, Sum)


def test_single_number() -> None:
    assert single_number(" 1e-5 ") == 1e-5
    assert math.copysign(1, single_number("-0.0")) == -1
    for text in ("", "1 2", "x", "nan", "inf", "--1", "1,2"):
        with pytest.raises(GrammarError):
            single_number(text)


def test_counts_stay_exact_as_floats() -> None:
    assert int(float(MAX_COUNT)) == MAX_COUNT
