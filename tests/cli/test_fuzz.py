"""Any text is either a loss or a friendly error; and what the generator writes means what Python means."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

import dalenius as dp
from dalenius.cli.loss_expressions import evaluate, forms, free_names, parse, read_loss
from dalenius.cli.problems import GrammarError
from dalenius.cli.promises import read_promise
from dalenius.errors import InvalidParameter

L = dp.losses
Written = tuple[str, dp.Loss]

# Words that make up the language, so that random texts get past the first word.
WORDS = st.sampled_from(
    [
        *forms(),
        *"()[],+*=-",
        "0",
        "1",
        "0.5",
        "1e-5",
        "10_000",
        "1e999",
        "sigma",
        "nan",
        "add_remove",
        "replace_one",
        " ",
    ]
)
# Names that tabulate a whole profile are parsed but not evaluated: slow, and no concern of the grammar.
SLOW = ("parallel", "group", "to_", "cp", "subset", "sampled", "shuffled", "discrete")


def check_error(text: str, problem: InvalidParameter) -> None:
    if isinstance(problem, GrammarError):
        assert 0 <= problem.start <= len(text)
        assert problem.start < problem.end
        message, line, carets = str(problem).split("\n")
        assert message
        assert set(carets) == {" ", "^"}
        assert carets.index("^") <= len(line)


@settings(max_examples=250)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(WORDS, max_size=25).map("".join),
        st.lists(WORDS, max_size=25).map(" ".join),
    )
)
@example("\ud800")
@example("gaussian(\u0661)")
@example("gaussian(\u00b2)")
@example("(" * 9999)
@example("9" * 9999)
@example("gdp(" + "0" * 9000 + ")")
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        tree = parse(text)
    except GrammarError as problem:
        check_error(text, problem)
        return
    names = free_names(tree)
    if any(word in text for word in SLOW):
        return
    try:
        assert isinstance(evaluate(tree, {name.id: 1.5 for name in names}), dp.Loss)
    except InvalidParameter as problem:
        check_error(text, problem)


@settings(max_examples=150)
@given(
    st.one_of(
        st.text(max_size=20),
        st.lists(
            st.sampled_from(["pure", "approx", "rdp", ":", ",", "1", "-", "1e-5", "2", "nan", " "]),
            max_size=8,
        ).map("".join),
    )
)
def test_any_promise_is_read_or_refused(text: str) -> None:
    try:
        assert read_promise(text) is not None
    except GrammarError as problem:
        check_error(text, problem)


# -- texts with a known meaning ----------------------------------------------------------------------

SCALES = st.floats(0.125, 64.0)
COUNTS = st.integers(1, 10_000)


def number(x: float) -> st.SearchStrategy[str]:
    """Ways to write one number."""
    ways = [repr(x), f"{x:.17e}"]
    if x == int(x):
        ways += [f"{int(x):_}", f"{int(x)}."]
    return st.sampled_from(ways)


@st.composite
def leaves(draw: st.DrawFn) -> Written:
    x = draw(SCALES)
    text = draw(number(x))
    k = draw(st.integers(2, 5))
    return draw(
        st.sampled_from(
            [
                (f"pure({text})", L.pure(x)),
                (f"approx({text}, 1e-6)", L.approx(x, 1e-6)),
                (f"rr({text}, {k})", L.randomized_response(x, k)),
                (f"laplace(sensitivity={k}, scale={text})", L.laplace(x, k)),
                (f"geometric({text},{k})", L.geometric(x, k)),
                (f"gaussian( {text} )", L.gaussian(x)),
                (f"gdp(mu={text}, adjacency=add_remove)", L.gdp(x)),
                (f"zcdp({text})", L.zcdp(x)),
                (f"expo({text})", L.bounded_range(x)),
                ("from_pair([0.75, 0.25], [0.5, 0.5])", L.from_pair([0.75, 0.25], [0.5, 0.5])),
            ]
        )
    )


@st.composite
def sampled(draw: st.DrawFn) -> Written:
    x, rate = draw(SCALES), draw(st.floats(0.001, 1.0))
    inner, loss = draw(
        st.sampled_from([(f"gaussian({x!r})", L.gaussian(x)), (f"laplace({x!r})", L.laplace(x))])
    )
    text = draw(number(rate))
    way = draw(
        st.sampled_from(["poisson({r}, {l})", "poisson({l}, {r})", "poisson_sampled(loss={l}, rate={r})"])
    )
    return way.format(r=text, l=inner), L.poisson_sampled(loss, rate)


def combined(parts: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    def add(a: Written, b: Written) -> Written:
        return f"{a[0]} + {b[0]}", a[1] + b[1]

    def repeat(a: Written, n: int, left: bool) -> Written:
        return (f"{n} * ({a[0]})" if left else f"({a[0]})*{n}"), a[1] * n

    return st.one_of(
        st.builds(add, parts, parts),
        st.builds(repeat, parts, COUNTS, st.booleans()),
        st.builds(lambda a: (f"( {a[0]})", a[1]), parts),
    )


@settings(max_examples=150)
@given(st.recursive(st.one_of(leaves(), sampled()), combined, max_leaves=8))
def test_generated_texts_mean_what_python_means(written: Written) -> None:
    text, loss = written
    found = read_loss(text)
    assert found == loss
    assert found.expression == loss.expression


@settings(max_examples=50)
@given(leaves(), leaves(), leaves(), COUNTS, COUNTS)
def test_precedence_is_that_of_python(a: Written, b: Written, c: Written, m: int, n: int) -> None:
    assert read_loss(f"{a[0]} + {b[0]} * {m} + {n} * {c[0]}") == a[1] + b[1] * m + n * c[1]
