"""What was asked of a data set through a console, by oneself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from dalenius.remote.line import Line
from dalenius.remote.problems import not_here, plain
from dalenius.session.ledger import Ledger

WORDS = ("asked", "kind", "said", "state", "id")


@dataclass(frozen=True)
class History:
    """Questions, the newest first. Asked again, each is answered from the record, for nothing."""

    lines: tuple[dict[str, Any], ...]

    def __len__(self) -> int:
        return len(self.lines)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary for each."""
        return [dict(line) for line in self.lines]

    def to_pandas(self) -> Any:
        """A pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.to_dicts(), columns=[*WORDS, "budget", "job"])

    def __str__(self) -> str:
        if not self.lines:
            return "Nothing was asked yet."
        return "\n".join(plain(f"{one['asked']}  {one['state']:<9}  {one['said']}") for one in self.lines)


@dataclass(frozen=True)
class RemoteLedger:
    """The console's ledger, as far as an analyst sees it: their own questions."""

    line: Line
    dataset: str

    def log(self, most: int = 100) -> History:
        """What you asked of this data set.

        Parameters
        ----------
        most
            At most so many, the newest.

        Returns
        -------
        History
            `print` it, or `to_pandas()`, `to_dicts()`.
        """
        return History(tuple(self.line.get("datasets", self.dataset, "releases", most=most)))

    def __getattr__(self, name: str) -> NoReturn:
        """Refused: what `Ledger` has beside `log` is the steward's."""
        if name.startswith("_") or not hasattr(Ledger, name):
            raise AttributeError(f"a ledger has no {name!r}")
        raise not_here(
            f"ledger.{name}",
            f"the ledger is the console's, and an analyst sees their own questions of it, by ledger.log(). A steward "
            f"verifies and exports it at {self.line.url}/ledger",
        )
