"""The public names of a room, which its `__init__.py` lists once: those it imports that are not modules."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType


def exported(namespace: Mapping[str, object]) -> list[str]:
    """For `__all__ = exported(globals())`, below imports of the form `from module import name as name`."""
    return sorted(
        name
        for name, value in namespace.items()
        if not (name.startswith("_") or isinstance(value, ModuleType) or value is exported)
    )
