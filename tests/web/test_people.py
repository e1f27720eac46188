"""People and their tokens: shown once, hashed in the store, revoked for good; each act is in the audit log."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from dalenius.web.limits import Limit
from dalenius.web.people import acts
from dalenius.web.store import clock
from dalenius.web.store.tokens import TOKENS
from tests.web.console import Console, csrf


def test_a_token_is_shown_once_and_the_store_has_its_hash_alone(console: Console) -> None:
    steward = console.api("Stella")
    made = steward.post("/api/v1/people", json={"name": "Cora", "role": "analyst"})
    secret = made.json()["secret"]
    assert made.status_code == 201
    cora = {"Authorization": f"Bearer {secret}"}
    assert console.client.get("/api/v1/me", headers=cora).json()["name"] == "Cora"
    for path in ("/api/v1/people", "/api/v1/audit", "/people", "/audit"):
        assert secret not in steward.get(path).text
    assert secret.encode() not in b"".join(f.read_bytes() for f in console.settings.folder.iterdir())
    # A token that is revoked opens nothing, and neither does a sign-in that was made with it.
    browser = console.browser("Anna")
    anna = console.api("Anna")
    for client, token in (
        (steward, made.json()["token"]["id"]),
        (anna, anna.get("/api/v1/me").json()["tokens"][0]["id"]),
    ):
        path = f"/api/v1/tokens/{token}" if client is steward else f"/api/v1/me/tokens/{token}"
        assert client.delete(path).status_code == 204
    assert console.client.get("/api/v1/me", headers=cora).status_code == 401
    assert anna.get("/api/v1/me").status_code == 401
    assert browser.get("/me").headers["location"] == "/sign-in?next=%2Fme"
    lines = [line["act"] for line in steward.get("/api/v1/audit").json()]
    assert lines[2:5] == ["revoked a token", "revoked a token", "signed in"]
    new = steward.post(f"/api/v1/people/{console.people['Anna'].id}/tokens", json={"label": "new"})
    console.tokens["Anna"] = new.json()["secret"]


def test_tokens_have_a_number_and_a_label(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        console.api("Boris").post("/api/v1/me/tokens", json={"label": "a\u202e"}).json()["parameter"]
        == "label"
    )
    monkeypatch.setattr(acts, "MOST_TOKENS", 2)
    statuses = [console.api("Boris").post("/api/v1/me/tokens", json={}).status_code for _ in range(2)]
    assert statuses == [201, 422]


def test_a_token_that_ran_out_opens_nothing(console: Console) -> None:
    made = console.api("Stella").post("/api/v1/me/tokens", json={"days": 1}).json()
    shown = {"Authorization": f"Bearer {made['secret']}"}
    assert console.client.get("/api/v1/me", headers=shown).status_code == 200
    with console.store.writing() as connection:
        change = TOKENS.update().where(TOKENS.c.id == made["token"]["id"])
        connection.execute(change.values(ends=clock.after(seconds=-1)))
    assert console.client.get("/api/v1/me", headers=shown).status_code == 401
    too_long = console.api("Stella").post("/api/v1/me/tokens", json={"days": 366})
    assert (too_long.status_code, too_long.json()["parameter"]) == (422, "days")


def test_the_page_does_what_the_api_does(console: Console) -> None:
    browser = console.browser("Stella")
    word = {"csrf": csrf(browser)}
    page = browser.post("/people", data={"name": "Dora <b>", "role": "analyst", **word}).text
    assert "dalenius_" in page
    assert "Dora &lt;b&gt;" in page
    dora = next(
        each for each in console.api("Stella").get("/api/v1/people").json() if each["name"] == "Dora <b>"
    )
    assert browser.post(f"/people/{dora['id']}/close", data=word).status_code == 303
    closed = console.api("Stella").get(f"/api/v1/people/{dora['id']}").json()
    assert (closed["active"], [token["works"] for token in closed["tokens"]]) == (False, [False])
    assert browser.post(f"/people/{dora['id']}/tokens", data=word).status_code == 422
    assert browser.post(f"/people/{dora['id']}/open", data=word).status_code == 303
    assert (
        browser.post(f"/people/{console.people['Stella'].id}/close", data=word).status_code == 422
    )  # the last one
    assert "closed out" in browser.get("/audit").text
    assert browser.post("/me/sign-out", data=word).status_code == 303
    assert browser.get("/me").status_code == 303


@pytest.mark.parametrize("name", ["", " ", "a" * 81, "stella", "a\nb", "=1+1", "@x"])
def test_names_that_cannot_be(console: Console, name: str) -> None:
    refused = console.api("Stella").post("/api/v1/people", json={"name": name, "role": "analyst"})
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("name", "alike"),
    [("Ärla", "ärla"), ("Ärla B", "Ärla B"), ("Zoë", "Zoe\u0308"), ("Ｅve", "eve"), ("Maße", "MASSE")],
)
def test_names_that_look_alike_are_one(console: Console, name: str, alike: str) -> None:
    """The ledger tells people apart by name, and so do those who read it; SQLite knows capitals of ASCII alone."""
    steward = console.api("Stella")
    assert steward.post("/api/v1/people", json={"name": name, "role": "analyst"}).status_code == 201
    told = steward.post("/api/v1/people", json={"name": alike, "role": "analyst"})
    assert told.status_code == 422, told.text
    assert "already somebody called" in told.json()["detail"]


def test_files_are_for_their_owner_alone(console: Console) -> None:
    assert console.settings.folder.stat().st_mode & 0o777 == 0o700
    assert {f.stat().st_mode & 0o777 for f in console.settings.folder.iterdir()} == {0o600}


def test_versions_are_written_and_a_newer_store_is_refused(console: Console) -> None:
    from dalenius.web.store import Store
    from dalenius.web.store.store import StoreUnusable
    from dalenius.web.store.subjects import subjects

    with console.store.reading() as connection:
        written = dict(connection.execute(text("SELECT subject, version FROM console_versions")).all())
    assert written == {subject.name: subject.version for subject in subjects()}
    with console.store.writing() as connection:
        connection.execute(text("UPDATE console_versions SET version = version + 1 WHERE subject = 'people'"))
    with pytest.raises(StoreUnusable, match="newer dalenius"):
        Store.open(console.settings.store_address)
    with console.store.writing() as connection:
        connection.execute(text("UPDATE console_versions SET version = version - 1 WHERE subject = 'people'"))


def test_who_is_refused_is_in_the_log(console: Console) -> None:
    """Whose token it was, if it was anybody's; never its text. Beyond the limit nothing is written."""
    anna, steward = console.api("Anna"), console.api("Stella")
    made = anna.post("/api/v1/me/tokens", json={"label": "old"}).json()
    assert anna.delete(f"/api/v1/me/tokens/{made['token']['id']}").status_code == 204
    for token in (made["secret"], "dalenius_unknown"):
        assert console.client.post("/sign-in", data={"token": token}).status_code == 401
        bearer = {"Authorization": f"Bearer {token}"}
        assert console.client.get("/api/v1/me", headers=bearer).status_code == 401
    log = steward.get("/api/v1/audit")
    lines = [(line["person"], line["act"], line["subject"], line["facts"]) for line in log.json()[:4]]
    refused, old = "was refused: the token does not work", {"token": made["token"]["id"]}
    assert lines == [("?", refused, "", {})] * 2 + [("?", refused, "Anna", old)] * 2
    assert made["secret"] not in log.text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console.app.state, "failures", Limit(console.store, "few", 1))
        bearer = {"Authorization": "Bearer dalenius_unknown"}
        statuses = [console.client.get("/api/v1/me", headers=bearer).status_code for _ in range(3)]
    assert statuses == [401, 429, 429]
    assert len(steward.get("/api/v1/audit").json()) == len(log.json()) + 1
