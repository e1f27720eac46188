"""Differential privacy from one front door: `import dalenius as dp`.

Importing this loads nothing heavy; a room is opened when one of its names is first used. The names stand in
`__init__.pyi`, once, where type checkers read them too.
"""

from __future__ import annotations

import re
from importlib import import_module

__version__ = "0.1.0"

_STUB = __loader__.get_data(f"{__file__}i").decode()  # from wherever this file was read, an archive included
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as \2$", _STUB, re.MULTILINE)}
__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise import_module("dalenius.core.front_door").missing(name, _HOMES)
    home = import_module(_HOMES[name])
    if home.__name__ == __name__ or not hasattr(home, name):  # a room, not something in one
        value: object = import_module(f"{home.__name__}.{name}")
    else:
        value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
