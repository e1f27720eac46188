"""What quantiles that are released one at a time share: the level, the bins, and how they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dalenius.tables.aggregates.of_one import OfOneColumn
from dalenius.tables.facts.forms import NULLS, NUMBER, NUMBERS, PLAIN
from dalenius.tables.measures.bins import Bins, fine_bins
from dalenius.tables.rows.scope import Scope


@dataclass(frozen=True)
class OneQuantile(OfOneColumn):
    """One quantile of which nothing else leaves."""

    level: float = 0.5
    bins: int = 2**14

    words: ClassVar = {"column": PLAIN, "level": NUMBER, "bounds": NUMBERS, "nulls": NULLS, "bins": PLAIN}
    way: ClassVar[str]
    """What `adaptive` is when it is asked for."""

    def counted(self, table: Scope) -> Bins:
        """The bins that rows are counted into."""
        argument = self.argument(table)
        return fine_bins(argument.term, argument.text, argument.bounds, self.bins, argument.nulls)

    @property
    def what(self) -> str:
        """As it was asked for."""
        column = repr(self.column)
        name = f"median({column}" if self.level == 0.5 else f"quantile({column}, {self.level:g}"
        return f"{name}, adaptive={self.way!r})"

    @classmethod
    def made(cls, **parts: Any) -> OneQuantile:
        from dalenius.tables.aggregates.quantiles import adaptive_quantile

        return adaptive_quantile(**{"level": 0.5, **parts}, way=cls.way)
