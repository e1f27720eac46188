"""The program `dalenius`: account, calibrate, explain and plot losses written in a little language."""

from __future__ import annotations

import math
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from dalenius.cli import attack, demo, infer, ledger, local, serve, show, synthesize, tables
from dalenius.cli.commands import BROKEN, EXIT_CODES, UNEXPECTED, command
from dalenius.cli.forms import Form
from dalenius.cli.loss_expressions import Expression, evaluate, free_names, known, parse, read_loss
from dalenius.cli.problems import GrammarError, quoted, single_number
from dalenius.cli.promises import Promising, read_promise
from dalenius.core import decimals
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.calculus.engines.accountant import Engine
    from dalenius.calculus.guarantees import Guarantee
    from dalenius.calculus.loss import Loss
    from dalenius.calculus.pairs.pair import Bounds

DEFAULT_DELTA = "1e-6"
PICTURES = (".png", ".svg", ".pdf")

LANGUAGE = """\b
Losses are written like this:
  poisson(0.01, gaussian(1.0)) * 10000 + laplace(2)
"+" is one release after another, "* 100" repeats one a hundred times.
Parameters come in order or by name: gaussian(sigma=2, sensitivity=1).
A transformer takes its loss and its numbers in either order.
`dalenius losses` lists the names."""

# No rich help: the same plain text on a terminal, in a file and in a test, and no import of rich to get it.
app = typer.Typer(
    help="Differential privacy: what a computation costs, the noise it needs, what it means for a person.",
    epilog=f"{LANGUAGE}\n\n{EXIT_CODES}",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},  # commands inherit it
)
app.add_typer(attack.app, name="attack")
app.add_typer(ledger.app, name="ledger")
app.add_typer(local.app, name="local")
tables.add_to(app)
synthesize.add_to(app)
infer.add_to(app)
demo.add_to(app)
serve.add_to(app)

EXPRESSION = typer.Argument(
    metavar="EXPR", help="A loss; `dalenius --help` shows how to write one. @FILE reads a saved one."
)


def main() -> None:
    """Run the program; the exit code says how it went."""
    try:
        app(prog_name="dalenius")
    except Exception as problem:
        traceback.print_exc()
        print(
            f"\nError: unexpected {type(problem).__name__}; please report it with the lines above.",
            file=sys.stderr,
        )
        sys.exit(UNEXPECTED)


def _version(wanted: bool) -> None:
    if wanted:
        from dalenius import __version__

        typer.echo(f"dalenius {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    """Options that belong to no command."""


@command(app)
def losses(form: Form) -> None:
    """The names that an expression may use, with their parameters.

    \b
    JSON keys: losses, a list of {name, meaning}.
    """
    header, rows = ("name", "meaning"), known()
    if form.as_json:
        show.print_json({"losses": [dict(zip(header, row, strict=True)) for row in rows]})
    elif form.is_table:
        form.print(header, rows)
    else:
        show.table(header, rows)


# -- account -----------------------------------------------------------------------------------------


@command(app)
def account(
    form: Form,
    expression: str = EXPRESSION,
    delta: list[str] = typer.Option(
        [], metavar="D", help="Bound epsilon at this delta; repeatable. [default: 1e-6]"
    ),
    epsilon: list[str] = typer.Option([], metavar="E", help="Bound delta at this epsilon; repeatable."),
    engine: str = typer.Option(
        "auto", metavar="auto|contour|grid|proof", help="How the bounds are computed."
    ),
    promise: list[str] = typer.Option(
        [],
        metavar="PROMISE",
        help="Say whether this is kept, such as auc:0.6; exit code 7 if not; repeatable.",
    ),
    save: str = typer.Option("", metavar="FILE", help="Write the loss down, to be read as @FILE."),
    force: bool = typer.Option(False, "--force", help="Let --save write over a file that is there."),
) -> None:
    """Certified bounds on what a computation costs.

    Upper bounds are rounded up and lower bounds down at the digits shown. The worse direction says
    whether removing a person's record or adding it is the case the bound is attained in. Everything is printed
    and saved also where a promise is not kept; the exit code is 7 then.

    \b
    JSON keys:
      expression, adjacency, engine
      epsilon_at_delta: list of {delta, lower, upper, worse_direction}
      delta_at_epsilon: list of {epsilon, lower, upper, worse_direction}
      total_variation: {lower, upper}
      promises: list of {kind, values, quantity, upper, promised, kept}
    worse_direction is "remove", "add", "same" (both have one law) or
    "tie" (the bounds overlap); infinity is the text "inf".
    """
    deltas = [_option("--delta", text) for text in delta]
    epsilons = [_option("--epsilon", text) for text in epsilon]
    if not deltas and not epsilons:
        deltas = [float(DEFAULT_DELTA)]
    promises = [read_promise(text) for text in promise]
    if save and not force and Path(save).exists():
        raise InvalidParameter.of("save", _is_there(save))
    loss, how = _loss(expression), cast("Engine", engine)
    at_delta = [_line("delta", d, loss.epsilon_bounds(d, how), loss) for d in deltas]
    at_epsilon = [_line("epsilon", e, loss.delta_bounds(e, how), loss) for e in epsilons]
    variation = loss.delta_bounds(0.0, how)
    kept = [_kept(each, loss) for each in promises]
    if save:
        _save(loss, save, force)
    if form.is_table:
        titles = ("bounded", "given", "at", "lower", "upper", "worse_direction")
        form.print(titles, [_row(row) for row in (*at_delta, *at_epsilon)])
        _end(kept)
        return
    if form.as_json:
        show.print_json(
            {
                **_about(loss),
                "engine": engine,
                "epsilon_at_delta": at_delta,
                "delta_at_epsilon": at_epsilon,
                "total_variation": {"lower": variation.lower, "upper": variation.upper},
                "promises": kept,
            }
        )
        _end(kept)
        return
    _print_about(loss)
    for given, bounded, rows in (("delta", "epsilon", at_delta), ("epsilon", "delta", at_epsilon)):
        if rows:
            header = (given, f"{bounded} at least", f"{bounded} at most", "worse direction")
            show.table(header, [_cells(given, row) for row in rows])
            show.say()
    for row in at_delta:
        if row["upper"] == math.inf:
            from dalenius.calculus import explain as explanation  # NumPy, which --help does without

            show.say(explanation.promised(loss, row["delta"], math.inf))
            show.say()
    low, high = decimals.rounded_down(variation.lower), decimals.rounded_up(variation.upper)
    show.say(f"Total variation: at least {low}, at most {high}")
    for text, row in zip(promise, kept, strict=True):
        verdict = "kept" if row["kept"] else "NOT shown to be kept"
        high, promised = decimals.rounded_up(row["upper"]), decimals.exact(row["promised"])
        show.say(f"{text}: {verdict}; {row['quantity']} is at most {high} (promised: {promised}).")
    if save:
        show.say(f"Saved: {save}")
    _end(kept)


def _end(kept: list[dict[str, Any]]) -> None:
    """A program that runs this one need not read what was printed."""
    if not all(row["kept"] for row in kept):
        raise typer.Exit(BROKEN)


def _line(given: str, at: float, bounds: Bounds, loss: Loss) -> dict[str, Any]:
    """One row of an account: where, the bounds there, and the direction that makes them."""
    if loss.is_symmetric:
        worse = "same"
    else:
        # The quickest engine is certain enough here: a direction is named only when the bounds are apart.
        remove, add = (
            side.epsilon(at) if given == "delta" else side.delta(at) for side in (loss.remove, loss.add)
        )
        worse = "remove" if remove.lower > add.upper else "add" if add.lower > remove.upper else "tie"
    return {given: at, "lower": bounds.lower, "upper": bounds.upper, "worse_direction": worse}


def _row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """The same with full precision, for a table of both kinds."""
    given = "delta" if "delta" in row else "epsilon"
    bounded = "epsilon" if given == "delta" else "delta"
    return bounded, given, row[given], row["lower"], row["upper"], row["worse_direction"]


def _cells(given: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    worse = {"same": "both alike", "tie": "too close to tell"}
    return (
        decimals.exact(row[given]),
        decimals.rounded_down(row["lower"]),
        decimals.rounded_up(row["upper"]),
        worse.get(row["worse_direction"], row["worse_direction"]),
    )


# -- calibrate ---------------------------------------------------------------------------------------


@command(app, cls=Promising)
def calibrate(
    form: Form,
    expression: str = typer.Argument(
        metavar="EXPR", help="A loss with one name in place of the number to be found."
    ),
    promise: str = typer.Option(
        ..., "--for", metavar="PROMISE", help="What is to be kept, such as approx:1.0,1e-5."
    ),
) -> None:
    """Find the parameter that just keeps a promise.

    \b
    Example:
      dalenius calibrate "poisson(0.01, gaussian(sigma)) * 10000" --for approx:1.0,1e-5

    The value printed is rounded to the private side and the promise is verified on it; CSV has all digits.

    \b
    JSON keys:
      expression (with the value put in), adjacency, variable
      value: the parameter in full precision; the promise was verified on it
      rounded: the parameter as printed without --json, verified as well
      promise: {kind, values}
      verified: {quantity, upper, promised} for `value`
    """
    wanted = read_promise(promise)
    tree = parse(expression)
    name = _variable(tree)
    value = _solved(tree, name, wanted)
    rounded = _rounded_safely(tree, name, value, wanted)
    loss = evaluate(tree, {name: value if form.as_json or form.as_csv else rounded})
    kept = wanted.measure(loss)
    if form.is_table:
        shown = value if form.as_csv else rounded
        titles = ("parameter", "value", "promise", "quantity", "at_most", "promised")
        form.print(titles, [(name, shown, wanted.text, kept.quantity, kept.upper, kept.promised)])
        return
    if form.as_json:
        show.print_json(
            {
                **_about(loss),
                "variable": name,
                "value": value,
                "rounded": rounded,
                "promise": {"kind": wanted.tag, "values": list(wanted.numbers.values())},
                "verified": {"quantity": kept.quantity, "upper": kept.upper, "promised": kept.promised},
            }
        )
        return
    show.say(f"{name} = {decimals.exact(rounded)}\n")
    _print_about(loss)
    high, promised = decimals.rounded_up(kept.upper), decimals.exact(kept.promised)
    # The promise itself is a bound too; it reads better than one digit above it.
    if float(high) > kept.promised >= kept.upper:
        high = promised
    show.say(f"Verified: {kept.quantity} is at most {high} (promised: {promised}).")


def _variable(tree: Expression) -> str:
    """The one free name of the expression."""
    names = free_names(tree)
    if not names:
        # An expression that is wrong elsewhere is better told so than asked for a variable.
        evaluate(tree)
        message = (
            "there is nothing to find: put a name such as sigma in place of the number to be calibrated."
        )
        raise tree.error(message, tree.root)
    if len(names) > 1:
        words = ", ".join(name.id for name in names)
        message = f"only one parameter can be found at a time, and these have no value: {words}."
        raise tree.error(message, names[1])
    return names[0].id


def _solved(tree: Expression, name: str, wanted: Guarantee) -> float:
    from dalenius.calculus.calibrate import calibrate as solve

    # The search takes a refused parameter for "not private enough". Where every value is refused the fault
    # lies elsewhere in the text, and its own message helps more than a failed search.
    problems = []
    for probe in (1.0, 0.5, 1e-3, 1e3):
        try:
            evaluate(tree, {name: probe})
            break
        except InvalidParameter as problem:
            problems.append(problem)
    else:
        raise problems[0]
    return solve(lambda x: evaluate(tree, {name: x}), wanted)


def _rounded_safely(tree: Expression, name: str, value: float, wanted: Guarantee) -> float:
    """The value at the digits shown, on the side that keeps the promise; verified, not assumed."""
    for text in (decimals.rounded_up(value), decimals.rounded_down(value)):
        try:
            if wanted.holds(evaluate(tree, {name: float(text)})):
                return float(text)
        except InvalidParameter:
            continue  # rounded to outside what the family allows, such as a rate above 1
    return value


# -- explain and plot --------------------------------------------------------------------------------


@command(app)
def explain(
    form: Form,
    expression: str = EXPRESSION,
    delta: str = typer.Option(DEFAULT_DELTA, metavar="D", help="Probability of the events left out."),
) -> None:
    """What a computation means for one person, in plain sentences.

    \b
    JSON keys (all numbers are upper bounds):
      expression, adjacency, delta, epsilon
      membership_advantage: true minus false positive rate of the best attack
      power: list of {level, at_most}, the best attack's hits at these false alarm rates
      auc: the chance to tell a release made with a person from one made without
      posterior: list of {prior, at_most}, how sure an attacker can become, but for a chance of delta
      text: the sentences
    In CSV and Markdown each of these numbers is a line: what it is, for which delta, level or prior, and at most how
    much.
    """
    at = _option("--delta", delta)
    loss = _loss(expression)
    if not (form.as_json or form.is_table):
        show.say(loss.explain(at))
        return
    content: dict[str, Any] = {
        "delta": at,
        "epsilon": loss.epsilon(at),
        "membership_advantage": loss.membership_advantage(),
        "power": [{"level": level, "at_most": loss.power(level)} for level in (0.01, 0.05, 0.1)],
        "auc": loss.auc(),
        "posterior": [{"prior": p, "at_most": loss.posterior(p, at)} for p in (0.01, 0.1, 0.5)],
    }
    if form.as_json:
        show.print_json({**_about(loss), **content, "text": loss.explain(at)})
        return
    rows: list[tuple[str, Any, float]] = [("epsilon", at, content["epsilon"])]
    rows.append(("membership_advantage", None, content["membership_advantage"]))
    rows += [("power", each["level"], each["at_most"]) for each in content["power"]]
    rows.append(("auc", None, content["auc"]))
    rows += [("posterior", each["prior"], each["at_most"]) for each in content["posterior"]]
    form.print(("number", "given", "at_most"), rows)


@command(app)
def plot(
    expression: list[str] = typer.Argument(metavar="EXPR...", help="One loss or several."),
    out: str = typer.Option(metavar="FILE", help="Where to draw: a .png, .svg or .pdf file."),
    label: list[str] = typer.Option([], metavar="TEXT", help="What the legend calls a loss; one for each."),
) -> None:
    """Draw privacy profiles and trade-off curves (needs matplotlib: pip install 'dalenius[plot]')."""
    from dalenius.calculus.plot import plot as draw

    path = Path(out)
    if path.suffix.lower() not in PICTURES:
        raise InvalidParameter(
            f"--out is {out!r}; it must end in {', '.join(PICTURES[:-1])} or {PICTURES[-1]}."
        )
    if not path.parent.is_dir():
        raise InvalidParameter(
            f"--out is {out!r}, and the folder {str(path.parent)!r} does not exist; create it first."
        )
    losses = [_loss(text) for text in expression]
    try:
        draw(*losses, labels=label or None, path=str(path))
    except OSError as problem:
        raise InvalidParameter(
            f"--out is {out!r}, which cannot be written: {problem.strerror or problem}."
        ) from problem
    show.say(f"Drawn: {out}")


# -- reading and printing ----------------------------------------------------------------------------


def _loss(text: str) -> Loss:
    """The loss that a text describes, or that a file holds: @FILE."""
    from dalenius.calculus.loss import Loss

    if not text.startswith("@"):
        return read_loss(text)
    try:
        return Loss.from_json(Path(text[1:]).read_text())
    except (OSError, ValueError) as problem:
        if isinstance(problem, InvalidParameter):
            raise
        said = getattr(problem, "strerror", None) or "it holds no text"
        raise InvalidParameter(f"{quoted(text[1:])} cannot be read: {said}.") from problem


def _save(loss: Loss, out: str, force: bool) -> None:
    text = loss.to_json()
    try:
        with Path(out).open("w" if force else "x", encoding="ascii") as file:
            file.write(text)
    except FileExistsError:
        raise InvalidParameter.of("save", _is_there(out)) from None
    except OSError as problem:
        raise InvalidParameter(
            f"--save is {quoted(out)}, which cannot be written: {problem.strerror or problem}."
        ) from problem


def _is_there(out: str) -> str:
    return f"--save is {quoted(out)}, which is there already. Name another file, or add --force to write over it."


def _kept(wanted: Guarantee, loss: Loss) -> dict[str, Any]:
    found = wanted.measure(loss)
    return {
        "kind": wanted.tag,
        "values": list(wanted.numbers.values()),
        "quantity": found.quantity,
        "upper": found.upper,
        "promised": found.promised,
        "kept": wanted.holds(loss),
    }


def _option(name: str, text: str) -> float:
    try:
        return single_number(text)
    except GrammarError:
        message = f"{name} is {quoted(text)}; it must be a finite number such as 0.5 or 1e-5."
        raise InvalidParameter(message) from None


def _about(loss: Loss) -> dict[str, Any]:
    return {"expression": loss.expression, "adjacency": loss.adjacency.name.lower()}


def _print_about(loss: Loss) -> None:
    show.say(f"Loss: {loss.expression}\nNeighbours: {loss.adjacency.value} record\n")


if __name__ == "__main__":
    main()
