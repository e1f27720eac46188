"""A console that one is connected to: its data sets, and sessions about them."""

from __future__ import annotations

from types import TracebackType

from dalenius.errors import ConsoleError, InvalidParameter
from dalenius.remote.line import Line, Progress
from dalenius.remote.session import RemoteSession
from dalenius.tables.facts.kinds import is_text


class Connection:
    """What `dp.connect` gives. Close it, or use it in a `with` block."""

    def __init__(self, line: Line, progress: Progress | bool = True) -> None:
        self.line, self.progress = line, progress

    def __repr__(self) -> str:
        return f"<Connection to {self.line.url}>"

    @property
    def datasets(self) -> tuple[str, ...]:
        """The names of the data sets that were granted to you."""
        told = self.line.get("datasets")
        try:
            return tuple(str(one["name"]) for one in told)
        except (KeyError, TypeError):
            raise ConsoleError("the console lists its data sets in a way that is not known here.") from None

    def session(self, dataset: str) -> RemoteSession:
        """A session about one of them.

        Parameters
        ----------
        dataset
            Its name, as in `datasets`.

        Returns
        -------
        RemoteSession
            With the manners of `dp.Session`, without the data.

        Raises
        ------
        ConsoleError
            If there is none that was granted to you, or the console cannot be reached.
        """
        if not is_text(dataset):
            raise InvalidParameter.of(
                "dataset", f"dataset is {dataset!r}; it must be a name, as in `datasets`."
            )
        return RemoteSession(self.line, dataset, self.progress)

    def close(self) -> None:
        """Hang up."""
        self.line.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
