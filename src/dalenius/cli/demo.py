"""`dalenius demo`: the main job from start to end, on people who do not exist, with a report to look at."""

from __future__ import annotations

import html
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dalenius.cli import pictures
from dalenius.cli.commands import command
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.tables.release.sheet import Sheet

QUESTIONS = {
    "Income by state": "SELECT state, COUNT(DISTINCT person) AS people, AVG(income) AS income\n"
    "FROM {people} WHERE age >= 18 GROUP BY state",
    "How income is spread": "SELECT QUANTILE(income, 0.1) AS p10, QUANTILE(income, 0.25) AS p25, "
    "MEDIAN(income) AS p50,\n  QUANTILE(income, 0.75) AS p75, QUANTILE(income, 0.9) AS p90\n"
    "FROM {people} WHERE age >= 18",
    "School": "SELECT PROPORTION(school >= 13) AS share, CORR(school, income) AS together\n"
    "FROM {people} WHERE age >= 18",
}

PEOPLE = 400
"""In the attack on sums of secret bits."""

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#1c2733}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
    "td,th{border-bottom:1px solid #dde3ea;text-align:left}"
    "pre{background:#f4f6f8;padding:.8em;overflow:auto}"
)


def demo(
    folder: Path = typer.Option(
        Path("build/demo"), "--to", metavar="FOLDER", help="Where data, ledger and report go."
    ),
    rows: int = typer.Option(200_000, help="How many rows to make up.", min=1000),
    console: bool = typer.Option(
        False, "--console", help="Also start the console on these people, and say where."
    ),
    port: int = typer.Option(
        8000, min=1, max=65535, help="Of the console; the next free one if it is taken."
    ),
    stop: bool = typer.Option(False, "--stop", help="End the console that was started, and nothing else."),
) -> None:
    """Make up a table of people, ask questions of it under a budget, and write a report."""
    if stop:
        from dalenius.web.demo import stop as end

        ended = end(folder.absolute() / "console")
        print("The console was ended." if ended else "There is no console to end.")
        return
    print(f"\nReport: {run(folder, rows)}")
    if console:
        _console(folder, rows, port)


def _console(folder: Path, rows: int, port: int) -> None:
    """Start it, and say who may sign in."""
    try:
        from dalenius.web import demo as made_up
        from dalenius.web.settings import Settings
    except ImportError as problem:
        if problem.name is not None and problem.name.startswith("dalenius"):
            raise
        print("\n(pip install 'dalenius[web]' to start the console here, too.)")
        return
    from dalenius.cli.people import STATES

    inside = folder.absolute()
    made_up.stop(inside / "console")
    data = f"people-{rows}.parquet"
    shelf = inside / "sources"  # the console's own folder must not lie where data may come from
    shelf.mkdir(exist_ok=True)
    shutil.copyfile(inside / data, shelf / data)
    settings = Settings(inside / "console", source_folders=(shelf,))
    bounds = {"age": [0, 120], "school": [0, 22], "hours": [0, 80], "income": [0, 250_000]}
    facts: dict[str, Any] = {name: {"bounds": ends, "nulls": "drop"} for name, ends in bounds.items()}
    facts |= {"person": {"nulls": "never"}, "state": {"categories": list(STATES), "nulls": "drop"}}
    tokens = made_up.prepare(settings, data, facts)
    running = made_up.start(settings, tokens, port)
    print(f"\nConsole: {running.address}  (end it with: dalenius demo --stop --to {folder})")
    for name, token in running.tokens.items():
        print(f"  sign in as {name} with the token {token}")


def run(folder: Path, rows: int) -> Path:
    """All of it; the path of the report."""
    import dalenius as dp
    from dalenius.cli.people import STATES, write_people

    if folder.exists() and not folder.is_dir():
        raise InvalidParameter(f"{folder} is a file; name a folder for data, ledger and report.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidParameter(
            f"the folder {folder} cannot be made ({problem.strerror}); name one that can be written to."
        ) from None
    data = folder / f"people-{rows}.parquet"
    if not data.exists():
        print(f"Making up {rows:,} rows ...", flush=True)
        write_people(data, rows)
    ledger = folder / f"people-{rows}.ledger"
    budget = dp.ApproxDP(2.0, 1e-7)
    bounds = {"income": (0, 250_000), "school": (0, 22)}
    facts: dict[str, Any] = {name: {"bounds": ends} for name, ends in bounds.items()}
    schema = dp.Schema({**facts, "state": {"categories": list(STATES)}}, nulls="drop")
    unit = dp.Unit("person", max_rows=2, max_groups=1)
    session = dp.Session(data, unit=unit, budget=budget, ledger=ledger, schema=schema)
    print(f"Budget for everything ever released from {data.name}: {budget!r}\n", flush=True)
    table = session.table.filter("age >= 18")
    parts: list[tuple[str, str, Sheet]] = []
    for title, select in QUESTIONS.items():
        text = select.format(people=f'"{data.stem}"')
        answer = session.sql(text, dp.ApproxDP(0.5, 1e-8))
        print(f"{title}\n{answer}\n", flush=True)
        parts.append((title, text, answer))
    model = _model(table, session)
    attack = _attack()
    print(
        f"{model[0]}\n\n{attack[0]}\n\nSpent: {session.spent.shortened(up=True)!r}\nLeft:  {session.left_in_words()}"
    )
    session.privacy_report.save(folder / "my-cost.html")
    print(f"\nWhat it cost one person, to be asked with one's own record: {folder / 'my-cost.html'}")
    report = folder / "report.html"
    report.write_text(_page(parts, model, attack, session, budget), encoding="utf-8")
    return report


def _model(table: Any, session: Any) -> tuple[str, str]:
    """A private classifier of the same people, paid from the same budget, and how often it is right: text, picture."""
    import dalenius as dp

    try:
        from dalenius.learn import LogisticRegression
    except ImportError:
        return "(pip install 'dalenius[learn]' to fit a private model here, too.)", ""
    features = {"age": (18, 90), "school": (0, 22), "hours": (0, 80)}
    asked = LogisticRegression(
        dp.PureDP(0.05), row_norm=3**0.5
    )  # three features from -1 to 1: none is clipped
    fitted = session.fit(asked, features, "income > 30000", table=table)
    weights, intercept = fitted[-1].coef_[0], float(fitted[-1].intercept_[0])
    score = " + ".join(
        f"({w:.6f}) * (2 * {name} - {low + high}) / {high - low}"
        for (name, (low, high)), w in zip(features.items(), weights, strict=True)
    )
    right = f"(({score}) > {-intercept:.6f} AND income > 30000) OR (({score}) <= {-intercept:.6f} AND income <= 30000)"
    share = session.release(table.agg(right=dp.proportion(right)), dp.ApproxDP(0.2, 1e-8))["right"]
    lines = [
        f"{name:>8} ({low} to {high})  {w:+.2f}"
        for (name, (low, high)), w in zip(features.items(), weights, strict=True)
    ]
    summary = [
        "Who earns more than 30,000? A private logistic regression; features from -1 to 1",
        *lines,
        f"Right about {share.estimate[0]:.1%} of the rows (95 % interval {share.low[0]:.1%} to {share.high[0]:.1%}), "
        "a private number, too.",
        f"The fit cost {asked.guarantee!r} for one row.",
    ]
    picture = pictures.ranges(list(features), weights, weights, weights, "Weights of the model")
    return "\n".join(summary), picture


def _picture(answer: Sheet) -> str:
    """The last column of a table by group, or the columns of a single line."""
    columns = answer.columns
    if len(answer.keys) > 1:
        last = columns[-1]
        labels = [", ".join(map(str, key)) for key in answer.keys]
        return pictures.ranges(
            labels, last.estimate.tolist(), last.low.tolist(), last.high.tolist(), last.name
        )
    middle, low, high = (
        [float(getattr(c, side)[0]) for c in columns] for side in ("estimate", "low", "high")
    )
    return pictures.ranges([c.name for c in columns], middle, low, high, "Estimates", bars=False)


def _attack() -> tuple[str, str]:
    """Secret bits of people, from sums that are published exactly and privately: text, pair of pictures."""
    import numpy as np

    import dalenius as dp
    from dalenius.audit.attacks import linear_reconstruction, random_bits, random_subsets

    secret, who = random_bits(PEOPLE), random_subsets(4 * PEOPLE, PEOPLE)
    sums = who.astype(np.int64) @ secret
    moved = float(who.sum(axis=0).max()) ** 0.5  # what one bit moves, in l2 norm
    noise = dp.mechanisms.DiscreteGaussian(sensitivity=moved, sigma=moved, adjacency=dp.REPLACE_ONE)
    exact, private = (
        linear_reconstruction(answers, who, secret, "squares") for answers in (sums, noise.release(sums))
    )
    text = (
        f"Why noise: {PEOPLE} people with one secret bit each, {4 * PEOPLE} sums over random groups of them\n"
        f"    exact sums:    an attacker rebuilds {exact.success:.1%} of the secrets\n"
        f"    private sums:  {private.success:.1%}, where any attacker can expect {private.allowed(noise):.1%} at most "
        "and a coin gets half"
    )
    shown = [
        pictures.squares(found.correct, f"{name}: {found.success:.1%} rebuilt")
        for name, found in (("Exact sums", exact), ("Private sums", private))
    ]
    return text, " ".join(shown)


def _page(
    parts: list[tuple[str, str, Sheet]],
    model: tuple[str, str],
    attack: tuple[str, str],
    session: Any,
    budget: Any,
) -> str:
    body = [
        "<h1>People who do not exist: a private report</h1>",
        f"<p>Everything below, together, keeps <b>{html.escape(repr(budget))}</b> for every person, whatever "
        "else is known about them. Bars are estimates; dark lines are 95&nbsp;% intervals.</p>",
    ]
    for title, code, answer in parts:
        shown = _picture(answer) if title != "School" else ""
        body.append(f"<h2>{html.escape(title)}</h2><pre>{html.escape(code)}</pre>{shown}{answer.to_html()}")
    body.append(f"<h2>A private model</h2>{model[1]}<pre>{html.escape(model[0])}</pre>")
    body.append(
        f"<h2>What an attacker makes of exact answers</h2>{attack[1]}<pre>{html.escape(attack[0])}</pre>"
    )
    spent, left = (
        html.escape(repr(p))
        for p in (session.spent.shortened(up=True), session.remaining.shortened(up=False))
    )
    body.append(f"<h2>Budget</h2><p>Spent: {spent}<br>Left: {left}</p>")
    body.append(
        '<p><a href="my-cost.html">What did all this cost me?</a> A page to ask with one\'s own record.</p>'
    )
    head = f"<meta charset=utf-8><title>A private report</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang=en>{head}{''.join(body)}"


def add_to(app: typer.Typer) -> None:
    """Put the command into the program."""
    command(app)(demo)
