"""Options that several commands share, as one dataclass for each group of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

from dalenius.cli.frame import clear_errors

Parameter = inspect.Parameter


def with_shared_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer reads it: a parameter that is a dataclass of options becomes its fields.

    What goes wrong inside ends with one message and an exit code (`clear_errors`).
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            parameters += _fields(groups[parameter.name])
        else:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        with clear_errors():
            for name, group in groups.items():
                own = {field.name: given.pop(field.name) for field in fields(group)}
                given[name] = group(**own)
            command(**given)

    # Typer reads both.
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _fields(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
