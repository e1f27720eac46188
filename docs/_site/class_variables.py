"""What belongs to a class is no parameter of its objects, also where its type is left to the type checker.

Griffe knows `ClassVar[int]`, and takes a bare `ClassVar` for a field of a dataclass.
"""

from __future__ import annotations

from typing import Any

import griffe


class ClassVariables(griffe.Extension):
    def on_attribute_instance(self, *, attr: griffe.Attribute, **kwargs: Any) -> None:
        if str(attr.annotation) == "ClassVar":
            attr.annotation = None
