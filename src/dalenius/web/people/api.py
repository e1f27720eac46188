"""People, tokens and the audit log, for programs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from dalenius.web.people import acts
from dalenius.web.people.access import SignedIn, Steward
from dalenius.web.state import TheSettings, TheStore
from dalenius.web.store import audit
from dalenius.web.store.people import Person
from dalenius.web.store.tokens import Token

router = APIRouter(prefix="/api/v1", tags=["people"])

Id = Annotated[str, Path(description="As the list of people, or of tokens, gives it.", max_length=64)]


class Strict(BaseModel):
    """What is sent must hold nothing else: a word that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid")


class PersonShown(BaseModel):
    """Somebody who may come in."""

    id: str = Field(description="Names the person in the API.")
    name: str = Field(description="What the ledger and the audit log call them.")
    role: Literal["steward", "analyst"] = Field(description="What they may do.")


class TokenShown(BaseModel):
    """A token, but for the token itself."""

    id: str = Field(description="Names the token in the API; it opens nothing.")
    label: str = Field(description="What its owner calls it.")
    made: str = Field(description="When it was made, in UTC.")
    ends: str = Field(description="When it stops to work, in UTC.")
    revoked: str | None = Field(description="When it was revoked, in UTC.")
    works: bool = Field(description="Whether it still opens the console.")


class KnownShown(PersonShown):
    """A person with their tokens."""

    active: bool = Field(description="Whether they may come in.")
    made: str = Field(description="When they were added, in UTC.")
    tokens: list[TokenShown] = Field(description="The newest first.")


class NewPerson(Strict):
    """Somebody to be let in."""

    name: str = Field(
        description="It never changes, and nobody else may have it.", min_length=1, max_length=80
    )
    role: Literal["steward", "analyst"] = Field(description="What they may do; it never changes.")


class NewToken(Strict):
    """A token to be made."""

    label: str = Field("", description="What its owner calls it.", max_length=80)
    days: int = Field(90, description="How long it works; the server's settings have a longest.", ge=1)


class TokenMade(BaseModel):
    """A new token with its text."""

    person: PersonShown = Field(description="Whose it is.")
    token: TokenShown = Field(description="What can be told of it later.")
    secret: str = Field(description="The token itself. It is not kept and cannot be shown again.")


class Activity(Strict):
    """Whether a person may come in."""

    active: bool = Field(description="False closes them out: all tokens are revoked, all sign-ins end.")


class ActShown(BaseModel):
    """A line of the audit log."""

    id: int = Field(description="Counts the lines.")
    time: str = Field(description="When, in UTC.")
    person: str = Field(
        description="Who; empty for the command line of the server, ? for one whose token does not work."
    )
    act: str = Field(description="What was done.")
    subject: str = Field(description="To whom or what.")
    facts: dict[str, Any] = Field(description="More of it, public facts only.")


@router.get("/me", summary="Who I am")
def me(person: SignedIn, store: TheStore) -> KnownShown:
    """The one to whom the token belongs, with all their tokens."""
    return _known(acts.known(store, person.id)[0])


@router.post("/me/tokens", status_code=201, summary="Make a token for myself")
def my_token(person: SignedIn, store: TheStore, settings: TheSettings, new: NewToken) -> TokenMade:
    """One more token of one's own. Its text is in this answer only."""
    token, text = acts.new_token(store, person, person.id, new.label, new.days, settings.token_days)
    return _made(person, token, text)


@router.delete("/me/tokens/{token}", status_code=204, summary="Revoke a token of mine")
def revoke_mine(person: SignedIn, store: TheStore, token: Id) -> None:
    """It opens nothing any more, nor do sign-ins made with it."""
    acts.revoke(store, person, token, owner=person.id)


@router.delete("/me/sign-ins", status_code=204, summary="Sign me out everywhere")
def sign_me_out(person: SignedIn, store: TheStore) -> None:
    """All browsers are signed out; tokens go on to work."""
    acts.sign_out_everywhere(store, person, person.id)


@router.get("/people", summary="Everyone")
def everyone(_: Steward, store: TheStore) -> list[KnownShown]:
    """All people with their tokens, by name."""
    return [_known(each) for each in acts.known(store)]


@router.post("/people", status_code=201, summary="Let somebody in")
def add(by: Steward, store: TheStore, settings: TheSettings, new: NewPerson) -> TokenMade:
    """A new person with a first token, whose text is in this answer only."""
    person, token, text = acts.add(store, by, new.name, new.role, settings.token_days)
    return _made(person, token, text)


@router.get("/people/{id}", summary="One person")
def one(_: Steward, store: TheStore, id: Id) -> KnownShown:
    """A person with their tokens."""
    return _known(acts.known(store, id)[0])


@router.patch("/people/{id}", summary="Close a person out, or let them in again")
def change(by: Steward, store: TheStore, id: Id, change: Activity) -> KnownShown:
    """The last steward cannot be closed out."""
    acts.set_active(store, by, id, change.active)
    return _known(acts.known(store, id)[0])


@router.post("/people/{id}/tokens", status_code=201, summary="Make a token for somebody")
def new_token(by: Steward, store: TheStore, settings: TheSettings, id: Id, new: NewToken) -> TokenMade:
    """One more token of a person. Its text is in this answer only."""
    token, text = acts.new_token(store, by, id, new.label, new.days, settings.token_days)
    return _made(acts.known(store, id)[0].person, token, text)


@router.delete("/people/{id}/sign-ins", status_code=204, summary="Sign somebody out everywhere")
def sign_out(by: Steward, store: TheStore, id: Id) -> None:
    """All browsers of a person are signed out; tokens go on to work."""
    acts.sign_out_everywhere(store, by, id)


@router.delete("/tokens/{token}", status_code=204, summary="Revoke anybody's token")
def revoke(by: Steward, store: TheStore, token: Id) -> None:
    """It opens nothing any more, nor do sign-ins made with it."""
    acts.revoke(store, by, token)


@router.get("/audit", summary="The audit log")
def log(
    _: Steward,
    store: TheStore,
    most: Annotated[int, Query(description="How many lines.", ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(description="Only lines with a smaller id.", ge=1, le=2**62)] = None,
) -> list[ActShown]:
    """Who did what, the newest first."""
    with store.reading() as connection:
        return [ActShown(**vars(each)) for each in audit.latest(connection, most, before)]


def _person(person: Person) -> PersonShown:
    return PersonShown(id=person.id, name=person.name, role=person.role)  # type: ignore[arg-type]


def _token(token: Token) -> TokenShown:
    return TokenShown(
        id=token.id,
        label=token.label,
        made=token.made,
        ends=token.ends,
        revoked=token.revoked,
        works=token.works,
    )


def _made(person: Person, token: Token, text: str) -> TokenMade:
    return TokenMade(person=_person(person), token=_token(token), secret=text)


def _known(known: acts.Known) -> KnownShown:
    shown = _person(known.person).model_dump()
    return KnownShown(
        **shown, active=known.active, made=known.made, tokens=[_token(each) for each in known.tokens]
    )
