"""Weights of classes: how much a row counts for, by its label. They are public, and given by the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dalenius.core import checks
from dalenius.core.checks import shown
from dalenius.errors import InvalidParameter

ClassWeight = Mapping[Any, float] | None


def relative_weights(class_weight: object, classes: Sequence[Any]) -> tuple[float, ...] | None:
    """The weight of each class in units of the largest, in the order of the classes; None where all are the same.

    A row's loss is multiplied by its weight, so one row moves a sum of gradients, and a Hessian, by as many times what
    it did without. With 1 as the largest weight the bounds for a row stay what they are. Multiplying all weights by a
    number would multiply objective, noise and ridge alike: it changes nothing, and is taken out here.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, str) or not isinstance(class_weight, Mapping):
        why = (
            "weights that balance the classes would be read off the data, which is not free"
            if isinstance(class_weight, str)
            else "it must be a mapping"
        )
        raise InvalidParameter.of(
            "class_weight",
            f"class_weight is {shown(class_weight)}; {why}. Give public weights, such as "
            f"class_weight={_example(classes)}.",
        )
    strange = [key for key in class_weight if not any(_equal(key, label) for label in classes)]
    if strange:
        raise InvalidParameter.of(
            "class_weight",
            f"class_weight has a weight for {shown(strange[0])}, which is not one of the classes "
            f"{shown(tuple(classes))}; weigh the classes by their labels.",
        )
    given = [_weight(class_weight, label) for label in classes]
    most = max(given)
    return None if min(given) == most else tuple(weight / most for weight in given)


def normal_weights(class_weight: object, classes: Sequence[Any]) -> dict[Any, float] | None:
    """Every class with its relative weight: the one spelling of all weights that mean the same."""
    weights = relative_weights(class_weight, classes)
    return None if weights is None else dict(zip(classes, weights, strict=True))


def _weight(given: Mapping[Any, float], label: Any) -> float:
    found = next((weight for key, weight in given.items() if _equal(key, label)), 1.0)
    why = "A class that is not to count is left out of classes."
    return checks.positive(f"the weight of class {label!r}", found, why)


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # labels that cannot be compared are not the same
        return False


def _example(classes: Sequence[Any]) -> str:
    pairs = ", ".join(f"{label!r}: {weight}" for label, weight in zip(classes, (1, 3), strict=False))
    return f"{{{pairs}}}"
