"""Paths that stay inside the folders of the settings, whatever was written."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from dalenius.errors import SourceError
from dalenius.tables.engines.place import PATTERN
from dalenius.web.datasets.sources.source import Allowed

MOST_LISTED = 200
MOST_LOOKED_AT = 5_000


def inside(path: str, allowed: Allowed) -> str:
    """The path itself, absolute, if all that it leads to is inside a folder of the settings.

    Links are followed before it is decided. Whether a file outside is there is never told: the words are the same.
    """
    refusal = SourceError(
        f"{path!r} is not in a folder that this console reads from: {_listed(allowed.source_folders)}. Write its path "
        "inside one of them."
    )
    if "\0" in path or "://" in path or not allowed.source_folders:
        raise refusal
    for folder in allowed.source_folders:
        root = os.path.realpath(folder)
        full = os.path.join(root, path)
        if ".." in Path(path).parts or not _is_in(full, root):
            continue
        found = glob.glob(full, recursive=True, include_hidden=True) if _is_pattern(full) else [full]
        if os.path.isdir(full):  # of which the files below are read
            below = os.path.join(glob.escape(full), "**", "*.parquet")
            found += glob.glob(below, recursive=True, include_hidden=True)
        if found and all(os.path.exists(each) for each in found):
            real = [os.path.realpath(each) for each in found]
            own = os.path.realpath(allowed.folder)
            if not all(_is_in(each, root) and not _is_in(each, own) for each in real):
                raise refusal
            return full if _is_pattern(full) else os.path.realpath(full)
    raise refusal


def files_in(allowed: Allowed, endings: tuple[str, ...]) -> Iterator[str]:
    """Files to choose from, by their paths inside the folders; links are not followed."""
    looked = listed = 0
    for folder in allowed.source_folders:
        for at, below, names in os.walk(folder):
            below[:] = sorted(name for name in below if not name.startswith("."))
            for name in sorted(names):
                looked += 1
                if looked > MOST_LOOKED_AT or listed >= MOST_LISTED:
                    return
                if name.lower().endswith(endings) and not os.path.islink(os.path.join(at, name)):
                    listed += 1
                    yield os.path.relpath(os.path.join(at, name), folder)


def _is_pattern(path: str) -> bool:
    return any(sign in path for sign in PATTERN) and not os.path.exists(path)


def _is_in(path: str, root: str) -> bool:
    return os.path.commonpath([path, root]) == root


def _listed(folders: Iterable[Path]) -> str:
    return ", ".join(str(folder) for folder in folders) or "the settings name none"
