"""`dalenius serve`: the console, a service and pages for stewards and analysts."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from dalenius.cli.commands import command
from dalenius.errors import InvalidParameter


def serve(
    host: str = typer.Option("127.0.0.1", metavar="ADDRESS", help="Where to listen."),
    port: int = typer.Option(8000, min=1, max=65535, help="The port."),
    folder: Path = typer.Option(
        Path("dalenius-console"), metavar="FOLDER", help="Where the embedded store and ledger are kept."
    ),
    store: str = typer.Option(
        "",
        metavar="WHERE",
        help="The console's own record: a file, or a postgresql:// URL (or DALENIUS_STORE). [default: in the folder]",
    ),
    ledger: str = typer.Option(
        "",
        metavar="WHERE",
        help="The ledger of data sets: a file, or a postgresql:// URL (or DALENIUS_LEDGER). [default: in the folder]",
    ),
    sources: list[Path] = typer.Option(
        [], metavar="FOLDER", help="A folder from which stewards may register files; repeatable."
    ),
    source_hosts: list[str] = typer.Option(
        [], "--source-host", metavar="HOST", help="A database server that a source may name; repeatable."
    ),
    spark: bool = typer.Option(
        False,
        "--spark",
        help="Stewards may register tables of the Spark that the environment names (SPARK_REMOTE).",
    ),
    workers: int = typer.Option(1, min=1, max=64, help="Processes."),
    lanes: int = typer.Option(
        2, min=1, max=64, help="Questions under way at the same time in one process, each until it leaves."
    ),
    tls_cert: Path = typer.Option(None, metavar="FILE", help="The certificate, in PEM format."),
    tls_key: Path = typer.Option(None, metavar="FILE", help="Its key."),
    behind_proxy: str = typer.Option(
        "",
        metavar="ADDRESSES",
        help="A proxy that ends TLS in front of this server, by address; with commas.",
    ),
    name: list[str] = typer.Option(
        [], metavar="HOST", help="A name under which the console is reached; others are refused; repeatable."
    ),
    slot: float = typer.Option(
        1.0, metavar="SECONDS", help="Answers leave after this, or twice this, or four times, ..."
    ),
    work_limit: float = typer.Option(
        3600.0, metavar="SECONDS", help="When work on a question is given up; what was charged stays charged."
    ),
    lease: float = typer.Option(
        15.0, metavar="SECONDS", help="When others take over from a worker that is not heard of."
    ),
    token_days: int = typer.Option(365, min=1, help="The longest life of a token."),
    calls_per_minute: int = typer.Option(
        1200, min=1, help="Requests of one person, or of one address where nobody is signed in."
    ),
    failures_per_minute: int = typer.Option(20, min=1, help="Wrong tokens from one address."),
    metrics_local: bool = typer.Option(
        False, "--metrics-local", help="Open /metrics to programs on this machine, without a token."
    ),
    first_steward: str = typer.Option(
        "", metavar="NAME", help="Let a first steward in, and print the token once."
    ),
    and_stop: bool = typer.Option(
        False, "--and-stop", help="With --first-steward: stop then, and start no server."
    ),
    new_token: str = typer.Option(
        "",
        metavar="NAME",
        help="Print a token that works for one day, for somebody who lost theirs, and stop.",
    ),
) -> None:
    """Run the console: pages and an API for stewards and analysts (needs pip install 'dalenius[web]').

    \b
    Example:
      dalenius serve --sources /srv/data --first-steward "Ada Lovelace"

    Without TLS it listens on this machine only.
    """
    try:
        from dalenius.web import serve as server
        from dalenius.web.settings import Settings
    except ImportError as problem:
        if problem.name is not None and problem.name.startswith("dalenius"):
            raise
        raise InvalidParameter(
            f"the console needs {problem.name}, which is not installed: pip install 'dalenius[web]'"
        ) from None
    for path in sources:
        if not path.is_dir():
            raise InvalidParameter.of("sources", f"--sources is {str(path)!r}, which is no folder; name one.")
    settings = Settings(
        folder.absolute(),
        store=store or os.environ.get("DALENIUS_STORE", ""),
        ledger=ledger or os.environ.get("DALENIUS_LEDGER", ""),
        source_folders=tuple(path.resolve() for path in sources),
        source_schemes=(*(["postgresql"] if source_hosts else []), *(["spark"] if spark else [])),
        source_hosts=tuple(host.lower() for host in source_hosts),
        https=tls_cert is not None or bool(behind_proxy),
        hosts=tuple(each.lower() for each in name),
        workers=workers,
        slot_seconds=slot,
        slots=lanes,
        work_seconds=work_limit,
        lease_seconds=lease,
        token_days=token_days,
        calls_per_minute=calls_per_minute,
        failures_per_minute=failures_per_minute,
        metrics_local=metrics_local,
    )
    if new_token:
        print(server.new_token(settings, new_token))
        return
    if and_stop:
        if not first_steward:
            raise InvalidParameter.of("and_stop", "--and-stop goes with --first-steward NAME; give both.")
        _let_in(server.first_steward(settings, first_steward), first_steward)
        return
    server.check(host, tls_cert, tls_key, behind_proxy)
    server.check_port(host, port)
    if first_steward:
        _let_in(server.first_steward(settings, first_steward), first_steward)
    scheme = "https" if settings.https else "http"
    print(f"The console is at {scheme}://{name[0] if name else host}:{port}", flush=True)
    server.serve(settings, host, port, tls_cert, tls_key, behind_proxy)


def _let_in(token: str | None, name: str) -> None:
    if token is None:
        print("There is a steward already; --first-steward was not needed.", flush=True)
    else:
        print(f"{name} is the first steward. This token is shown once:\n\n    {token}\n", flush=True)


def add_to(app: typer.Typer) -> None:
    """Put the command into the program."""
    command(app)(serve)
