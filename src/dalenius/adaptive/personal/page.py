"""A report as one HTML page, complete in itself: nothing is fetched, nothing typed into it leaves it.

The page computes with the constants that Python computed (quantiles, eigenvectors), by the same formulas (page.js).
Its content security policy allows its own script and style, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from collections.abc import Iterable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dalenius.core.record import JSON
from dalenius.errors import InvalidParameter

if TYPE_CHECKING:
    from dalenius.adaptive.personal.record import Fields
    from dalenius.adaptive.personal.report import PrivacyReport

STATEMENTS = {"one": ("for me", 1), "everyone": ("for everybody at once", math.inf)}


def page(report: PrivacyReport, title: str, failure: float) -> str:
    """The whole page."""
    home = files("dalenius.adaptive.personal")
    script, style = (home.joinpath(name).read_text(encoding="utf-8") for name in ("page.js", "page.css"))
    allowed = f"script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    name = html.escape(title)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{name}</h1>
{inside(report, failure)}</main>
<script>{script}</script>
</body>
</html>
"""


def inside(report: PrivacyReport, failure: float) -> str:
    """The page below its heading, script and style left out: whoever puts it into another page loads page.js there."""
    content, count = data(report, failure), len(report.releases)
    count_text = f"{count} release{'s' * (count != 1)}"
    return f"""<p>Type your own record. It stays in this page: nothing is sent or stored. The answer is the most that
anybody can have learned from what was released about whether your record was among the data, or what was in
it.{_several(report)}</p>
<form id="form" autocomplete="off">
<fieldset><legend>Your record</legend>{_inputs(report)}</fieldset>
<fieldset><legend>What is asked</legend>
<label for="member">Was your record among the data?</label>
<select id="member" name="member"><option value="unsaid">I do not know</option><option value="yes">yes</option>
<option value="no">no</option></select>
<label for="statement">The bound shall hold</label>
<select id="statement" name="statement">{_options(content)}</select>
</fieldset>
</form>
<p id="answer" role="status"></p>
<svg id="picture" role="img" viewBox="0 0 640 80"></svg>
<p><small>&epsilon; is the privacy loss: odds move by a factor of e<sup>&epsilon;</sup> at most. {count_text} counted.
Made with dalenius from released and public numbers only.</small></p>
<script type="application/json" id="report">{_embedded(content)}</script>
"""


def _several(report: PrivacyReport) -> str:
    """What somebody with several rows has to do."""
    if all(getattr(release, "rows", 1) == 1 for release in report.releases):
        return ""
    return " If several records are yours, type one after the other: the largest answer holds for all of them together."


def data(report: PrivacyReport, failure: float) -> dict[str, JSON]:
    """What the script computes with: plain numbers."""
    statements = {}
    for name, (_, people) in STATEMENTS.items():
        try:
            constants = report.constants(failure, people)
        except InvalidParameter:  # a worst case that bounds one person's loss only
            continue
        statements[name] = {
            "constants": constants,
            "most": report._most(failure, people),
            "worst": report.worst(failure=failure, people=people),
        }
    releases = [{"kind": release.tag, **release.record()} for release in report.releases]
    for release in releases:
        release.pop("curvature", None)  # in the constants already
        if release["kind"] == "worst_case":
            release.pop("loss")
    return {"releases": _plain(releases), "statements": _plain(statements), "failure": failure}


NAMES = ("features", "target", "name", "kind", "noise", "negative", "positive", "categories")
"""Words whose values are text or a list of it, and stay so."""


def _plain(value: Any) -> Any:
    """Exact numbers, written as text in records, as numbers; infinity as null."""
    if isinstance(value, dict):
        return {key: part if key in NAMES else _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, str):
        value = float(value)
    return None if isinstance(value, float) and math.isinf(value) else value


def _inputs(report: PrivacyReport) -> str:
    """A labelled input for every column that some release asks for; each name once."""
    seen: dict[str, str] = {}
    meant: dict[str, Any] = {}
    for release in report.releases:
        if release.fields is not None:
            for name, control in _controls(release.fields):
                seen.setdefault(name, control)
            for name, meaning in _meanings(release.fields):
                if meant.setdefault(name, meaning) != meaning:
                    raise InvalidParameter(
                        f"{name!r} is one of two classes in one release and something else in another; a page cannot "
                        "ask for both. Make a page of each."
                    )
    if not seen:
        return "<p>Every record costs the same here.</p>"
    return "".join(
        f'<label for="field{n}">{html.escape(name)}</label>{control.format(n=n)}'
        for n, (name, control) in enumerate(seen.items())
    )


def _meanings(fields: Fields) -> list[tuple[str, Any]]:
    """What the form's value stands for: a number, or which of two classes. For 0 and 1 that is the same."""
    kind, values = fields.labels.kind, fields.labels.values
    plain = kind != "classes" or values == (0, 1)
    return [*fields.asked, (fields.target, None if plain else values)]


def _controls(fields: Fields) -> list[tuple[str, str]]:
    found, ends = [], iter(fields.bounds or [None] * len(fields.features))
    for name, listed in fields.asked:
        pair, *_ = [next(ends) for _ in listed or (None,)]
        if listed is not None:
            found.append((name, _choice(name, [*enumerate(listed), (-1, "another")])))
            continue
        hint = "" if pair is None else f' placeholder="{pair[0]:g} to {pair[1]:g}"'
        found.append((name, _number(name, hint)))
    target, (low, high) = fields.target, fields.labels.values
    if fields.labels.kind == "classes":
        said = ("0 (no)", "1 (yes)") if (low, high) == (0, 1) else (low, high)
        found.append((target, _choice(target, enumerate(said))))
    else:
        least = ' data-least="0"' if fields.labels.kind == "counts" else ""
        found.append((target, _number(target, f' placeholder="{low:g} to {high:g}"{least}')))
    return found


def _choice(name: str, options: Iterable[tuple[int, Any]]) -> str:
    """Nothing is chosen beforehand: a bound for somebody else's value would look like one's own."""
    listed = "".join(f'<option value="{n}">{_text(value)}</option>' for n, value in options)
    return f'<select id="field{{n}}" data-field="{_text(name)}"><option value="">choose</option>{listed}</select>'


def _number(name: str, hint: str) -> str:
    return f'<input id="field{{n}}" data-field="{_text(name)}" type="number" step="any"{hint}>'


def _text(value: object) -> str:
    """For an attribute inside a format string."""
    return html.escape(str(value)).replace("{", "{{").replace("}", "}}")


def _options(content: dict[str, JSON]) -> str:
    return "".join(f'<option value="{name}">{STATEMENTS[name][0]}</option>' for name in content["statements"])


def _embedded(content: dict[str, JSON]) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
