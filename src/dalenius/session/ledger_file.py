"""The file of a ledger: how it comes into its place, and whether it is still there.

A new ledger is built under another name and linked into place whole. So an empty or half-made file at the ledger's name
is never one of ours: it is refused, not taken for a ledger in which nothing was spent.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from dalenius.errors import LedgerDamaged, LedgerError


def looked_at(path: Path) -> tuple[int, int]:
    """Which file the name of a ledger leads to: one that can be a ledger, under this name only."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise LedgerDamaged(
            f"the ledger {str(path)!r} is gone. Nothing is released; put the file back."
        ) from None
    except OSError as problem:
        raise LedgerError(f"the ledger {str(path)!r} cannot be looked at: {problem.strerror}.") from None
    if path.is_dir():
        raise LedgerError(f"{str(path)!r} is a folder; name a file for the ledger.")
    if status.st_size == 0:
        raise LedgerDamaged(
            f"{str(path)!r} is an empty file, and a ledger never is. If charges were made in it, restore a "
            "copy; if you are sure that none were, remove the file and open the ledger anew."
        )
    if status.st_nlink > 1:
        _remove_drafts(path, status)
    return status.st_dev, status.st_ino


def _remove_drafts(path: Path, status: os.stat_result) -> None:
    """Remove what a process killed while creating this ledger left; refuse any other second name.

    SQLite finds an unfinished transaction by the name of the file: with two names it would miss one.
    """
    for draft in path.parent.iterdir():
        if draft.name.startswith(f".{path.name}.new-"):
            with contextlib.suppress(FileNotFoundError):
                if draft.stat().st_ino == status.st_ino:
                    draft.unlink()
    if path.stat().st_nlink > 1:
        raise LedgerError(
            f"the ledger {str(path)!r} has a second name (a hard link), and must have one only. Remove the "
            "link; to keep a copy, copy the file or use `dalenius ledger export`."
        )


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A draft to be filled, which gets the name when the block ends well, unless the name is taken by then."""
    draft = path.with_name(f".{path.name}.new-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield draft
        _placed(draft, path)
    finally:
        for name in (draft, draft.with_name(draft.name + "-journal")):
            name.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _placed(draft: Path, path: Path) -> None:
    """Give the finished draft its name, unless the name is taken."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    except OSError:
        # No hard links on this file system. Reserve the name, so that two creators cannot both win.
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return
        os.replace(draft, path)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable (where folders can be opened: not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
