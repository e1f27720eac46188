"""What is written down to outlive the code: plain JSON with words of its own, never names of classes or fields.

A record is a JSON object. One that stands for a thing of some kind says which: {"kind": "zcdp", "rho": "0.5"}. Numbers
that are not whole are text, exact: a double as Python writes it ("0.1"), a fraction as "1/3"; whole numbers are JSON's
own. One record has one text: keys sorted, no spaces, plain ASCII.

A text that stands alone (a question, an answer, a saved loss or model) says what it is and in which version:
{"format": "dalenius loss", "version": 1, ...}. A reader refuses a version higher than its own, and says to upgrade.
The formats are described in docs/record-format.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from dalenius.errors import DaleniusError, InvalidParameter

JSON: TypeAlias = Any
"""None, bool, int, str, or a list or dict of these."""


class CannotBeWritten(InvalidParameter):
    """Something that may be another thing tomorrow, or looks like one: it has no record."""


def text(record: Mapping[str, JSON]) -> str:
    """The one text of a record.

    >>> text({"rho": "0.5", "kind": "zcdp"})
    '{"kind":"zcdp","rho":"0.5"}'
    """
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def exact(value: float | Fraction) -> str:
    """A number as text that is the number, to the last bit.

    >>> from fractions import Fraction
    >>> exact(0.1), exact(3), exact(Fraction(1, 3))
    ('0.1', '3.0', '1/3')
    """
    return str(value) if isinstance(value, Fraction) else repr(float(value))


def headed(format: str, version: int, content: Mapping[str, JSON]) -> str:
    """The text of a record that stands alone."""
    return text({**content, "format": format, "version": version})


def opened(
    written: object, format: str, version: int, error: type[DaleniusError] = InvalidParameter
) -> dict[str, JSON]:
    """The record that `headed` wrote; `error` is raised where it is something else, or newer than `version`."""
    try:
        found = json.loads(written) if isinstance(written, str | bytes) else written
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != format:
        raise error(f"this is not a {format}: it has no heading that says so.")
    known = found.get("version")
    if not isinstance(known, int) or isinstance(known, bool) or known < 1:
        raise error(f"this {format} has the version {known!r}, which no dalenius wrote.")
    if known > version:
        raise error(
            f"this {format} is of version {known}, and this dalenius reads up to version {version}: install a newer "
            "dalenius."
        )
    return found


def unknown(what: str, kind: object, error: type[DaleniusError]) -> DaleniusError:
    """For a kind that is not in a registry: written by a newer version, or by somebody else."""
    return error(f"{what} of kind {kind!r} is not one that this dalenius knows: install a newer dalenius.")
