"""The API reference: one page a room, one entry for each public name, made when the site is built.

MkDocs runs `on_files` (mkdocs.yml, hooks). The names come from the package itself, so none can be forgotten; the texts
are the docstrings, which mkdocstrings lays out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from inspect import isclass, isfunction, ismodule
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import dalenius


@dataclass(frozen=True)
class Room:
    """One page: a module whose public names it shows, and how a user writes them."""

    page: str
    title: str
    module: str
    spelled: str
    question: str


ROOMS = (
    Room("front-door", "The front door", "dalenius", "dp", "What does `import dalenius as dp` give?"),
    Room("losses", "Losses", "dalenius.losses", "dp.losses", "What does a release cost?"),
    Room("mechanisms", "Mechanisms", "dalenius.mechanisms", "dp.mechanisms", "How is noise added?"),
    Room(
        "queries",
        "Many questions",
        "dalenius.queries",
        "dp.queries",
        "How are many questions answered at once?",
    ),
    Room("learn", "Models", "dalenius.learn", "dp.learn", "Which models can be fitted?"),
    Room("infer", "Inference", "dalenius.infer", "dp.infer", "Which estimates and tests are there?"),
    Room(
        "local",
        "The local model",
        "dalenius.local",
        "dp.local",
        "How do people answer with noise of their own?",
    ),
    Room(
        "adaptive",
        "Looking at the data",
        "dalenius.adaptive",
        "dp.adaptive",
        "How can noise fit the data at hand?",
    ),
    Room("audit", "Audit", "dalenius.audit", "dp.audit", "Does a mechanism keep what it claims?"),
    Room(
        "attacks",
        "Attacks",
        "dalenius.audit.attacks",
        "dp.audit.attacks",
        "What can be read out of a release?",
    ),
    Room(
        "theorems",
        "Theorems",
        "dalenius.calculus.theorems",
        "dp.theorems",
        "What do the classical theorems give?",
    ),
    Room("noise", "Noise", "dalenius.noise", "dalenius.noise", "Where do the random numbers come from?"),
    Room("errors", "Errors", "dalenius.errors", "dp.errors", "What can go wrong, and what does it say?"),
)

GIVEN_BACK = (
    "dalenius.tables.ask.query.Table",
    "dalenius.tables.ask.query.Query",
    "dalenius.tables.release.answer.Answer",
    "dalenius.tables.release.cross_table.CrossTable",
    "dalenius.session.synthetic_table.SyntheticTable",
    "dalenius.session.session.Price",
    "dalenius.session.explain.Explanation",
    "dalenius.session.together.Explanations",
    "dalenius.session.continual.Feed",
    "dalenius.session.continual.Published",
    "dalenius.session.verify.Verification",
)
"""What is never made by hand, but given by a call."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, text in pages():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    return files


def pages() -> Iterator[tuple[str, str]]:
    """Every page of the reference: its name and its Markdown. A thing of two names is shown under the first."""
    shown: dict[str, str] = {}
    for room in ROOMS:
        module = import_module(room.module)
        names = [name for name in public(module) if not ismodule(getattr(module, name))]
        things = {f"{room.spelled}.{name}": home(module, name) for name in names}
        yield room.page, page(room, things, shown)
    last = Room("given-back", "What calls give back", "", "", "What can be done with what I got?")
    yield last.page, page(last, {path.rpartition(".")[2]: path for path in GIVEN_BACK}, shown)


def page(room: Room, things: dict[str, str], shown: dict[str, str]) -> str:
    lines = [f"# {room.title}", "", room.question, ""]
    for spelled, path in things.items():
        if path in shown:
            lines += [f"## {spelled}", "", f"See [here]({shown[path]}.md#{path}).", ""]
        else:
            shown[path] = room.page
            lines += [
                f"::: {path}",
                "    options:",
                f"      heading: {spelled}",
                f"      toc_label: {spelled}",
                "",
            ]
    return "\n".join(lines)


def public(module: Any) -> list[str]:
    """The names that a user may write after the module's."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [name for name in vars(module) if not name.startswith("_")]
        names = [name for name in names if getattr(vars(module)[name], "__module__", None) == module.__name__]
    return sorted((name for name in names if not name.startswith("_")), key=str.lower)


def home(module: Any, name: str) -> str:
    """Where the thing of that name is defined, which is where its text stands."""
    value = getattr(module, name)
    if isclass(value) or isfunction(value):
        return f"{value.__module__}.{value.__qualname__}"
    if module is dalenius:
        return f"{dalenius._HOMES[name]}.{name}"
    return f"{module.__name__}.{name}"
