"""What a release that looks at the data answers when the data do not allow it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Refusal:
    """The outcome "no answer": the test did not pass. It tells nothing else, and its price has been paid.

    Not an error: how likely it is depends on the data, and is part of the guarantee. All refusals are equal.

    Examples
    --------
    >>> from dalenius.adaptive import Refusal
    >>> Refusal() == Refusal()
    True
    """
