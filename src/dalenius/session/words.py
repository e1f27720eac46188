"""Recorded questions in words: "count, mean of income (0 to 250 000) by state, where age >= 18".

For readers of a ledger. A question is known by its record, and the words are made from that; what has no words here
(a kind of a later version, a text that somebody asked by hand) is shown as it was written, shortened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from dalenius.session.record.questions import FORMAT

LONGEST = 300
"""Characters of a question that are shown; lists in it are cut much earlier."""
MANY = 8
"""Members of a list that are named."""

Record = Mapping[str, Any]

_QUOTED = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)\"""")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def in_words(question: str) -> str:
    """What a question asks, on one line.

    Parameters
    ----------
    question
        The text of a charge: the record of a session's question, or any text.

    Returns
    -------
    str
        At most some hundred characters.

    Examples
    --------
    >>> in_words("how many adults?")
    'how many adults?'
    """
    try:
        record = json.loads(question)
        if record["format"] == FORMAT:
            return shortened(_KINDS[record["kind"]](record))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError, RecursionError):
        pass  # not one of ours, or of a later version
    return shortened(question)


def shortened(text: str, most: int = LONGEST) -> str:
    """One line of at most so many characters."""
    line = " ".join(text[: 2 * most].split())
    return line if len(line) <= most and len(text) <= 2 * most else f"{line[: most - 3].rstrip()}..."


def number(text: object) -> str:
    """A number as people write it: 250 000 and not 250000.0."""
    value = Decimal(str(text))
    if value != value.to_integral_value() or abs(value) >= Decimal(10) ** 15:
        return f"{value.normalize():g}"
    return spaced(int(value))


def spaced(whole: int) -> str:
    """A whole number in groups of three: 250 000."""
    return f"{whole:,}".replace(",", " ")


def expression(text: str) -> str:
    """An expression without the quotes that its names do not need."""

    def bare(found: re.Match[str]) -> str:
        name = found[1]
        return name if name is not None and _PLAIN.fullmatch(name) else found[0]

    return _QUOTED.sub(bare, text)


def listed(words: Iterable[str], most: int = MANY) -> str:
    """a, b, c and 12 more."""
    all_ = list(words)
    more = f" and {len(all_) - most} more" if len(all_) > most else ""
    return ", ".join(all_[:most]) + more


# -- questions --------------------------------------------------------------------------------------------


def _query(query: Record) -> str:
    asked = [_aggregate(each["aggregate"]) for each in query["aggregates"]]
    return ", ".join(dict.fromkeys(asked)) + _groups(query) + steps_in_words(query["table"])


def _groups(query: Record) -> str:
    if not query["group_by"]:
        return ""
    keys = query["keys"] or {}
    found = " (keys discovered)" if keys.get("kind") == "discovered" else ""
    return f" by {', '.join(query['group_by'])}{found}"


def steps_in_words(table: Record) -> str:
    """What is done to a table before it is asked of; empty where nothing is."""
    steps = table["steps"]
    conditions = [expression(step["condition"]) for step in steps if step["kind"] == "filter"]
    if len(conditions) > 1:
        conditions = [f"({each})" if " OR " in each else each for each in conditions]
    made = [
        f"{step['name']} = {expression(step['expression'])}" for step in steps if step["kind"] == "compute"
    ]
    joined = [" and ".join(ours for ours, _ in step["on"]) for step in steps if step["kind"] == "join"]
    text = f", where {' AND '.join(conditions)}" if conditions else ""
    text += f", with {', '.join(made)}" if made else ""
    text += "".join(f", joined with a public table on {on}" for on in joined)
    return text + "".join(f", {_other_step(step)}" for step in steps if step["kind"] not in _TOLD)


_TOLD = ("filter", "compute", "join")


def _other_step(step: Record) -> str:
    """What else was done to the rows; a step of a later version by the word it is recorded under."""
    if step["kind"] == "private join":
        on = " and ".join(ours for ours, _ in step["on"])
        return f"joined with the private table {step['table']['name']} on {on}"
    if step["kind"] == "explode":
        return f"one row for each of at most {step['max_items']} items of {step['column']}"
    if step["kind"] == "limit rows":
        return f"at most {step['max_rows']} rows of each"
    return str(step["kind"])


def _release_all(record: Record) -> str:
    asked = record["queries"]
    finest = max(asked.values(), key=lambda query: len(query["group_by"]))
    if len(asked) > 1 and all(_is_margin(name, query, finest) for name, query in asked.items()):
        return f"{_query(finest)}, and {len(asked) - 1} margin{'s' * (len(asked) > 2)}"
    return f"{len(asked)} questions: " + "; ".join(f"{name}: {_query(each)}" for name, each in asked.items())


def _is_margin(name: str, query: Record, finest: Record) -> bool:
    """Whether it asks of the same rows by fewer columns, or by all, under the name that `cube` and `rollup` give it:
    whoever asks chooses names, and nothing may be left out because of them."""
    by = query["group_by"]
    own = {word: part for word, part in query.items() if word not in _OF_GROUPS}
    return (
        name == (f"by {', '.join(by)}" if by else "in all")
        and set(by) <= set(finest["group_by"])
        and own == {word: part for word, part in finest.items() if word not in _OF_GROUPS}
    )


_OF_GROUPS = ("group_by", "keys")


def _model(record: Record, what: Record) -> str:
    """A model, an estimator or a test, and the columns it is about."""
    columns = [(each["name"], each["aggregate"]["column"]) for each in record["query"]["aggregates"]]
    target = [expression(_uncoded(text)) for name, text in columns if name.startswith("target")]
    others = [expression(text) for name, text in columns if not name.startswith("target")]
    of = f" of {listed(target)} on {listed(others)}" if target else f" of {listed(others)}"
    kinds = [what["kind"]]
    if kinds == ["pipeline"]:
        kinds = [step["model"]["kind"] for step in what["parameters"]["steps"]]
    return f"{', '.join(kinds).replace('_', ' ')}{of}{steps_in_words(record['query']['table'])}"


_CODED = re.compile(
    r"""COALESCE\(CASE WHEN ("(?:[^"]|"")*+"|\((?:[^'"()]|'[^']*+'|"[^"]*+")*+\)) = CONSTANT THEN \d+"""
    r"""(?: WHEN \1 = CONSTANT THEN \d+)*+ ELSE -1 END, -1\)""".replace(
        "CONSTANT", r"(?:'(?:[^']|'')*+'|[-\w.]++)"
    )
)
"""A column, or an expression in brackets without others inside, whose classes were numbered: all of the text."""


def _uncoded(text: str) -> str:
    found = _CODED.fullmatch(text)
    return text if found is None else found[1]


def _synthesis(record: Record) -> str:
    names = [column["name"] for column in record["columns"]]
    return f"synthetic rows of {listed(names)}{steps_in_words(record['table'])}"


_KINDS: Mapping[str, Callable[[Record], str]] = {
    "release": lambda record: _query(record["query"]),
    "release_all": _release_all,
    "fit": lambda record: f"fit: {_model(record, record['model'])}",
    "fit_targets": lambda record: f"fits: {_model(record, record['model'])}",
    "evaluate": lambda record: f"evaluation: {_model(record, record['model']['model'])}",
    "infer": lambda record: _model(record, record["estimator"]),
    "test": lambda record: _model(record, record["test"]),
    "synthesize": _synthesis,
    "continual": lambda record: f"a feed of {_query(record['query'])}, one period after another",
    "continual periods": lambda record: f"the next periods of a feed, after {record['after']}",
}


# -- aggregates -------------------------------------------------------------------------------------------


def _aggregate(asked: Record) -> str:
    known = _AGGREGATES.get(asked["kind"])
    if known is not None:
        return known(asked)
    name, column = asked["kind"].replace("_", " "), asked.get("column")
    return f"{name} of {_column(asked)}" if isinstance(column, str) else str(name)


def _column(asked: Record, column: str = "column", bounds: str = "bounds", *more: str) -> str:
    within = asked.get(bounds)
    notes = [f"{number(within[0])} to {number(within[1])}"] if within else []
    notes += more
    return expression(asked[column]) + (f" ({', '.join(notes)})" if notes else "")


def _of(word: str) -> Callable[[Record], str]:
    return lambda asked: f"{word} of {_column(asked)}"


def _both(asked: Record) -> str:
    return f"{asked['kind']} of {_column(asked, 'x', 'x_bounds')} and {_column(asked, 'y', 'y_bounds')}"


def _histogram(asked: Record) -> str:
    if asked.get("edges"):
        edges = f"edges {listed(map(number, asked['edges']))}"
        return f"histogram of {_column(asked, 'column', '', edges)}"
    bins = f"{asked['bins']} bins"
    return f"histogram of {_column(asked, 'column', 'bounds', bins)}"


def _level(levels: Iterable[str]) -> str:
    texts = [number(level) for level in levels]
    if texts == ["0.5"]:
        return "median"
    return f"quantile{'s' * (len(texts) > 1)} {', '.join(texts)}"


def _adaptive(asked: Record) -> str:
    return f"{_level([asked['level']])} of {_column(asked)}, {asked['kind'].partition('_')[0]}"


_AGGREGATES: Mapping[str, Callable[[Record], str]] = {
    "count": lambda asked: "count" if asked["column"] is None else f"count of {_column(asked)}",
    "count_distinct": lambda asked: "count of distinct units",
    "sum": _of("sum"),
    "mean": _of("mean"),
    "variance": _of("variance"),
    "std": _of("standard deviation"),
    "covariance": _both,
    "correlation": _both,
    "proportion": lambda asked: f"share of rows with {expression(asked['condition'])}",
    "histogram": _histogram,
    "quantiles": lambda asked: f"{_level(asked['levels'])} of {_column(asked)}",
    "bounds": lambda asked: f"bounds of {number(Decimal(asked['share']) * 100)} % of {_column(asked)}",
    "mode": _of("mode"),
    "top_k": lambda asked: f"the {asked['k']} most frequent of {_column(asked)}",
    "adaptive_quantile": _adaptive,
    "smooth_quantile": _adaptive,
    "proposed_quantile": _adaptive,
}
