"""Promises that stewards published: for anybody, without a sign-in."""

from __future__ import annotations

from dalenius.web.datasets.opening import NoSuchDataset
from dalenius.web.datasets.promise import Promise, promise_of
from dalenius.web.datasets.registration import read_registration
from dalenius.web.store import Store
from dalenius.web.store import datasets as kept
from dalenius.web.store.datasets import Kept


def published(store: Store, name: str) -> Promise:
    """What a data set promises; one that is not published is not there, in the same words as one that never was."""
    with store.reading() as connection:
        found = kept.get(connection, name)
    if found is None or not _is_published(found):
        raise NoSuchDataset(name)
    return promise_of(read_registration(found.registration))


def all_published(store: Store) -> list[Kept]:
    """Those whose promise anybody may read."""
    with store.reading() as connection:
        return [each for each in kept.everything(connection) if _is_published(each)]


def _is_published(found: Kept) -> bool:
    return found.is_open and read_registration(found.registration).published
