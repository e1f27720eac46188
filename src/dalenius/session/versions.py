"""What to do with a ledger that is not of this version."""

from __future__ import annotations

from dalenius.errors import LedgerError
from dalenius.session.entries import CLOSED, FIRST, SCHEMA


def other_version(label: str, version: object) -> LedgerError:
    """An error that names the fix."""
    text = f"the ledger {label!r} has version {version!r}, and this dalenius reads version {SCHEMA}"
    if version == FIRST:
        return LedgerError(
            f"{text}. Convert it once: `dalenius ledger convert {label} NEW` makes a new ledger with the same accounts "
            "and all that was spent, and closes this one."
        )
    if version == CLOSED + FIRST:
        return LedgerError(
            f"the ledger {label!r} was closed: it was converted, and goes on in another. Use that one; `dalenius "
            f"ledger convert {label} NEW` finishes a conversion that was interrupted, and says where it went."
        )
    if version == CLOSED + SCHEMA:
        return LedgerError(
            f"the ledger {label!r} is being made by a conversion that is not finished. Run `dalenius ledger convert "
            f"OLD {label}` once more."
        )
    newer = isinstance(version, int) and version > SCHEMA
    return LedgerError(f"{text}: {'install a newer dalenius' if newer else 'no dalenius wrote that'}.")
