"""The yearly statement: what it says, that it is safe to open, and that it fits a screen, a phone and the dark."""

from __future__ import annotations

import datetime
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import dalenius as dp
from dalenius.errors import InvalidParameter
from dalenius.session.burn_down import Step, _ticks, burn_down
from dalenius.session.ledger import Ledger
from tests.browser import browser as browser
from tests.browser import page as page
from tests.session.helpers import by_hand, rho

NASTY = '<img src=x onerror="alert(1)">&"\x1b'


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What time entries say that it is."""
    told = ["2026-01-05T10:00:00+00:00"]
    for module in ("account", "ledger", "acts"):
        monkeypatch.setattr(f"dalenius.session.{module}.now", lambda: told[0])
    return told


@pytest.fixture
def ledger(tmp_path: Path, clock: list[str]) -> Ledger:
    ledger = Ledger.open(tmp_path / "people.ledger")
    clock[0] = "2025-06-01T10:00:00+00:00"
    ana = ledger.account(
        "people", dp.ZCDP(0.2), "ana", ceiling=dp.ZCDP(0.4), renewals=1, unit=dp.Unit("id", max_rows=3)
    )
    ana.ask("before", rho("0.05"), lambda: "1")
    clock[0] = "2026-03-01T10:00:00+00:00"
    ana.ask("in march", rho("0.1"), lambda: "1")
    ledger.existing("people", NASTY).charge(NASTY, rho("0.05"))
    clock[0] = "2026-06-01T10:00:00+00:00"
    ana.raise_budget(dp.ZCDP(0.4), note="for the summer")
    ana.renew()
    clock[0] = "2027-01-01T00:00:00+00:00"
    ana.ask("the year after", rho("0.05"), lambda: "1")
    ledger.account("pets", dp.ApproxDP(1.0, 1e-6))
    return ledger


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", html.partition("</style>")[2]))


def test_what_it_says(ledger: Ledger) -> None:
    told = words(ledger.statement(2026).html)
    for text in (
        "rho 0.8 promised, in all",
        "rho 0.15 charged in 2026: 18.8 % of what was promised",
        "rho 0.6 left to ask with",
        "2 questions paid for",
        "each id, of whom at most 3 rows count",
        "in march rho 0.1 12.5 %",
        "budget raised to rho 0.4 (for the summer)",
        "1 of 1 renewals were used by then",
        "ana 1 rho 0.1 12.5 %",
        "is right half the time without the release, and at most",
        "This account was opened after 2026",
        f"--checkpoint {ledger.checkpoint()}",
    ):
        assert text in told, text
    assert "the year after" not in told
    assert "before" not in told.partition("What it was spent on")[2].partition("What that means")[0]
    assert "the year after" in words(ledger.statement(2027, "people").html)
    assert "pets" not in words(ledger.statement(2027, "people", title="x").html)
    assert "Nothing was done in 2030" in words(ledger.statement(2030).html)


def test_it_is_safe_and_whole(ledger: Ledger) -> None:
    """Names and questions are text, nothing is fetched from anywhere, and no script can run."""
    html = ledger.statement(2026, title=NASTY).html
    assert "<img" not in html
    assert "<script" not in html
    assert "\x1b" not in html
    assert "&lt;img" in html
    assert not re.search(r"""(src|href)\s*=|url\(|@import|https?://""", html.replace("&lt;img src=x", ""))
    assert "default-src 'none'" in html


def test_saved_to_a_new_file_only(ledger: Ledger, tmp_path: Path) -> None:
    made = ledger.statement(2026)
    path = made.save(tmp_path / "statement.html")
    assert path.read_text(encoding="utf-8") == made.html
    with pytest.raises(InvalidParameter, match="exists; name a new one"):
        made.save(path)
    with pytest.raises(InvalidParameter, match="cannot be written"):
        made.save(tmp_path / "no" / "x.html")
    assert "sandbox" in made._repr_html_()
    for wrong in (20, True, "2026", 10**6):
        with pytest.raises(InvalidParameter, match="the year is"):
            ledger.statement(wrong)  # type: ignore[arg-type]


def test_a_ledger_that_is_not_sound_says_so(ledger: Ledger, tmp_path: Path) -> None:
    by_hand(str(tmp_path / "people.ledger"), "DROP TRIGGER entries_stay")
    made = ledger.statement(2026)
    assert not made.sound
    assert "The ledger is not sound" in made.html
    assert "the trigger entries_stay is gone" in made.html


def test_in_a_browser(ledger: Ledger, tmp_path: Path, page: Any) -> None:
    """On a screen and a phone, by day and by night: no problem, no request, nothing wider than the page."""
    path = ledger.statement(2026).save(tmp_path / "statement.html")
    backgrounds = set()
    for width, scheme in ((1000, "light"), (1000, "dark"), (360, "light")):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        seen = page.locator("svg:visible").count()
        assert seen == 1  # one picture for each account of the year, in the size that fits
        backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(backgrounds) == 2
    assert page.problems == []
    assert {url.partition(":")[0] for url in page.fetched} == {"file"}


def test_the_picture() -> None:
    start, end = (datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2026, 2027))
    middle = datetime.datetime(2026, 7, 2, 12, tzinfo=datetime.UTC)  # half of the year
    picture = burn_down([Step(start, 1.0), Step(middle, 0.5, "raised")], start, end, end, "rho")
    path = re.findall(r'class="line" d="M([^"]*)"', picture)[0]
    points = [tuple(map(float, point.split())) for point in path.split(" L")]
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = points
    assert (y0, y2, x1) == (y1, y3, x2)
    assert x1 - x0 == pytest.approx((x3 - x0) / 2, abs=1)
    assert y2 - y0 == pytest.approx((260 - 22 - 28) / 2, abs=1)
    assert "raised" in picture
    for most in (1e-9, 0.05, 0.3, 1.0, 7.3, 1e6):
        ticks = _ticks(most)
        assert ticks[0] == 0
        assert ticks[-1] >= most * (1 - 1e-9)
        assert 3 <= len(ticks) <= 6
    assert "<path" not in burn_down([], start, end, middle, "rho")


@pytest.mark.parametrize("narrow", [False, True])
def test_words_in_the_picture_lie_in_it_and_not_on_each_other(narrow: bool) -> None:
    """Acts on every other day of the last months, when a word to the right of its mark would run off the page."""
    start, end = (datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in (2026, 2027))
    steps = [Step(end - datetime.timedelta(days=day), 1.0, "renewed") for day in range(91, 0, -2)]
    picture = burn_down(steps, start, end, end, "rho", narrow=narrow)
    found = re.findall(r'<text x="([^"]*)" y="[^"]*" text-anchor="(start|end)">renewed', picture)
    spans = [(float(x) - 50, float(x)) if side == "end" else (float(x), float(x) + 50) for x, side in found]
    assert len(spans) >= (1 if narrow else 2)
    assert max(right for _, right in spans) <= (400 if narrow else 800)
    assert all(right <= left for (_, right), (left, _) in pairwise(spans))
