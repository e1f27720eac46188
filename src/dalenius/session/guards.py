"""What a PostgreSQL server itself checks of every entry, so that those who may spend cannot do anything else.

Entries are added through `dalenius.append`, which runs with the rights of the ledger's owner (SECURITY DEFINER). Those
who spend may call it, and read; they may not write the tables. Before an entry is added a trigger checks, in the
database:

- it follows the head, and its hash is that of its content and of the entry before it;
- a charge is filed under its question, costs no less than nothing, says what is spent after it, in all and by its
  analyst, and fits the budget and the share;
- an answer belongs to a charge that has none yet, which the same user made;
- what a steward does is what the opening of the account allows (`session.standing`).

An owner is held to all this too, and may open accounts and be their steward besides. `spent`, `pending`, `standing` and
`granted` are the server's own notes for these checks. No process trusts them: what is spent is what the chain adds up
to (`session.memory`).
"""

from __future__ import annotations

from importlib.resources import files

from dalenius.session.entries import SCHEMA, START

_SQL = files("dalenius.session").joinpath("guards.sql").read_text(encoding="utf-8")

TABLES = _SQL.replace("{version}", str(SCHEMA)).replace("{start}", START)
"""The tables of a new ledger, and what guards them."""

_AGAIN, _NEW = (
    "-- What follows can be run again on a ledger of an earlier version.",
    "-- The guards themselves: of a new ledger alone.",
)

LATEST = "dalenius.is_readable(text)"
"""A function that only a server has whose guards are those of this version."""

NEW_KIND = """
ALTER TABLE dalenius.entries DROP CONSTRAINT IF EXISTS entries_kind_check;
ALTER TABLE dalenius.entries ADD CONSTRAINT entries_kind_check
    CHECK (kind IN ('open', 'account', 'charge', 'answer', 'steward', 'close'));
"""
"""For the tables of an earlier version."""

UPGRADE = NEW_KIND + TABLES.partition(_AGAIN)[2].partition(_NEW)[0]
"""What makes the guards of an earlier version those of this one; by the owner. Rights that were granted stay."""

TRIGGERS = ("entries_follow", "entries_stay", "head_follows", "head_stays")

GRANT = """
REVOKE ALL ON ALL TABLES IN SCHEMA dalenius FROM {role};
GRANT USAGE ON SCHEMA dalenius TO {role};
GRANT SELECT ON dalenius.entries, dalenius.head TO {role};
GRANT EXECUTE ON FUNCTION dalenius.turn(), dalenius.append(bigint, text, bigint, text, text, text, text) TO {role};
"""
"""What those who spend need, and nothing more."""
