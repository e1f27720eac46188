"""What the one who runs a console decides: where things are kept, where data may come from, and the limits."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from dalenius.core import checks
from dalenius.errors import InvalidParameter

ENVIRONMENT = "DALENIUS_CONSOLE"
"""The variable in which `dalenius serve` hands the settings to its workers."""


@dataclass(frozen=True)
class Settings:
    """Everything that a console is told when it starts.

    Examples
    --------
    >>> from pathlib import Path
    >>> from dalenius.web.settings import Settings
    >>> Settings(Path("/srv/console")).store_address
    '/srv/console/console.sqlite'
    """

    folder: Path
    """Where the embedded store and ledger are, and what the console itself writes; for its owner alone."""
    store: str = field(default="", repr=False)
    """The console's own record: a path or a postgresql:// URL. Not given: console.sqlite in the folder."""
    ledger: str = field(default="", repr=False)
    """The ledger of data sets that name no other. Not given: ledger.sqlite in the folder."""
    source_folders: tuple[Path, ...] = ()
    """Folders that files of data may be in. None: no file can be registered."""
    source_schemes: tuple[str, ...] = ()
    """What else a source may be: postgresql, spark. None: files only."""
    source_hosts: tuple[str, ...] = ()
    """Hosts that the address of a source may name. None: no address can be registered."""
    https: bool = False
    """Whether people reach the console by https: served so, or by a proxy in front of it."""
    hosts: tuple[str, ...] = ()
    """The names under which the console is reached; others are refused. None: any name."""
    workers: int = 1
    """Processes that share the store."""
    slot_seconds: float = 1.0
    """An ordinary answer leaves so long after its work began, and one that took longer after 2, 4, 8, ... times as
    long (docs/console-timing.md). Longer than questions take."""
    slots: int = 2
    """Questions that are under way at the same time in one process, each until it leaves."""
    work_seconds: float = 3600.0
    """When work on a question is given up."""
    lease_seconds: float = 15.0
    """When others take over from a worker that is not heard of."""
    isolation: str = "process"
    """Where work runs: in a process of its own, or (for trying out) in a thread."""
    metrics_local: bool = False
    """Whether /metrics is open to programs on the same machine, without a token."""
    body_bytes: int = 1 << 20
    """The longest request."""
    body_seconds: float = 20.0
    """How long a request may take to arrive."""
    sign_in_hours: float = 12.0
    """A sign-in ends after this, whatever is done."""
    idle_minutes: float = 60.0
    """A sign-in ends when it was not used for so long."""
    token_days: int = 365
    """The longest life of a token."""
    calls_per_minute: int = 1200
    """Requests of one person; of one address where nobody is signed in."""
    failures_per_minute: int = 20
    """Sign-ins and tokens that are wrong, of one address."""

    def __post_init__(self) -> None:
        for name in (
            "slot_seconds",
            "work_seconds",
            "lease_seconds",
            "body_seconds",
            "sign_in_hours",
            "idle_minutes",
        ):
            checks.positive(name, getattr(self, name))
        for name in (
            "workers",
            "slots",
            "body_bytes",
            "token_days",
            "calls_per_minute",
            "failures_per_minute",
        ):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InvalidParameter.of(
                    name, f"{name} is {getattr(self, name)!r}; it must be a whole number above 0."
                )

        for folder in self.source_folders:
            if self.folder.resolve().is_relative_to(folder.resolve()):
                raise InvalidParameter.of(
                    "folder",
                    f"the console's own folder {self.folder} is inside {folder}, from which data may come, and its "
                    "record and ledger are no data; name another folder.",
                )
        if self.isolation not in ("process", "thread"):
            raise InvalidParameter.of(
                "isolation", f"isolation is {self.isolation!r}; it must be 'process' or 'thread'."
            )

    @property
    def store_address(self) -> str:
        """Where the console's own record is."""
        return self.store or str(self.folder / "console.sqlite")

    @property
    def ledger_address(self) -> str:
        """Where the ledger is that data sets use unless they name another."""
        return self.ledger or str(self.folder / "ledger.sqlite")

    def make_folder(self) -> None:
        """Have the folder, readable by its owner alone."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.folder.stat().st_mode & 0o077:
                self.folder.chmod(0o700)
        except OSError as problem:
            raise InvalidParameter(
                f"the folder {self.folder} cannot be made for this user alone ({problem.strerror}); "
                "name another with --folder."
            ) from None

    def to_text(self) -> str:
        """For the environment of a worker."""
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_text(cls, text: str) -> Settings:
        """What `to_text` wrote."""
        given = json.loads(text)
        for each in fields(cls):
            if isinstance(given.get(each.name), list):
                given[each.name] = tuple(given[each.name])
        given["folder"] = Path(given["folder"])
        given["source_folders"] = tuple(Path(folder) for folder in given.get("source_folders", ()))
        return cls(**given)

    @classmethod
    def from_environment(cls) -> Settings:
        """As `dalenius serve` left them for its workers."""
        text = os.environ.get(ENVIRONMENT)
        if text is None:
            raise InvalidParameter(f"{ENVIRONMENT} is not set; start the console with `dalenius serve`.")
        return cls.from_text(text)
