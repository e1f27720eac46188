"""A survey as one HTML page, complete in itself: the client in JavaScript, a form, and the report to send."""

from __future__ import annotations

import base64
import hashlib
import html
import math
from importlib.resources import files

from dalenius.core.decimals import rounded_up
from dalenius.errors import InvalidParameter
from dalenius.local.wire.parameters import Parameters, checked, is_text

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:2em auto;padding:0 1em;color:#1c2733}"
    "pre{background:#f4f6f8;padding:.8em;white-space:pre-wrap;overflow-wrap:anywhere}"
    "input,select,button{font:inherit;margin-right:.5em}"
)

SCRIPT = """
const parameters = JSON.parse(document.getElementById("parameters").textContent);
document.getElementById("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = document.getElementById("value"), button = document.getElementById("make");
  const shown = document.getElementById("report");
  try {
    if (field.value === "") throw new RangeError("nothing is chosen yet");
    const value = parameters.categories ? field.value : Number(field.value);
    shown.textContent = JSON.stringify(daleniusLocal.report(parameters, value));
    field.disabled = button.disabled = true; // one report: a second one would cost as much again
  } catch (problem) {
    shown.textContent = problem.message;
  }
});
"""


def survey_page(parameters: Parameters, question: str) -> str:
    """A page that asks a question and makes the report, in the browser of the person who answers.

    Nothing is fetched and nothing is sent: the page shows the report, and the person sends it on, or the site that
    holds the page reads it. The content security policy allows the page's own script and style and nothing else.

    Parameters
    ----------
    parameters
        What everybody in the survey knows.
    question
        What people are asked.

    Returns
    -------
    str
        HTML.

    Raises
    ------
    InvalidParameter
        If a parameter is not of the kind described.

    Examples
    --------
    >>> import dalenius as dp
    >>> m = dp.local.RandomizedResponse(epsilon=1.0)
    >>> page = dp.local.survey_page(dp.local.Parameters(m, "vote", ("no", "yes")), "Did you vote?")
    >>> page.startswith("<!doctype html>"), "Did you vote?" in page
    (True, True)
    """
    checked(parameters)
    if not is_text(question, 1, 10_000):
        raise InvalidParameter.of("question", "question must be text of at most 10 000 characters.")
    client = files("dalenius.local.wire").joinpath("client.js").read_text(encoding="utf-8")
    allowed = f"script-src '{_hash(client)}' '{_hash(SCRIPT)}'; style-src '{_hash(STYLE)}'"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    public = parameters.to_json().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(question)}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{html.escape(question)}</h1>
<form id="form" autocomplete="off">{_field(parameters)}<button id="make">Make a report</button></form>
<p>Your answer stays in this page. The report below was changed at random, so that whoever reads it can never be sure of
your answer: seeing it changes the odds of any answer against any other by a factor of at most
{_factor(parameters.mechanism.epsilon)}.</p>
<pre id="report" role="status"></pre>
<script type="application/json" id="parameters">{public}</script>
<script>{client}</script>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _field(parameters: Parameters) -> str:
    if parameters.categories:
        # With a value of its own: the text of an option is stripped of spaces, and would be no category any more.
        escaped = map(html.escape, parameters.categories)
        options = "".join(f'<option value="{name}">{name}</option>' for name in escaped)
        return f'<select id="value" aria-label="answer"><option value="">choose</option>{options}</select>'
    if parameters.is_for_numbers:
        low, high = parameters.mechanism.bounds
    else:
        low, high = 0, parameters.mechanism.k - 1
    hint = f"{low:g} to {high:g}"
    return f'<input id="value" type="number" step="any" placeholder="{hint}" aria-label="answer, {hint}">'


def _factor(epsilon: float) -> str:
    """e^epsilon, rounded up to three digits."""
    return rounded_up(math.exp(epsilon) * (1 + 1e-15), 3)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
