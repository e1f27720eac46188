"""The log: one line of name=value pairs each, without data.

An exception is written as its type and its place in the code. Its message may quote a value, an address or a password,
so no traceback is ever written, whoever logs it.
"""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

Caught = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class Line(logging.Formatter):
    """One line for each record, whatever is in it."""

    def formatException(self, ei: Caught) -> str:
        """The type of an exception, and where it was raised."""
        frames = traceback.extract_tb(ei[2])
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        return f"type={ei[0].__name__ if ei[0] else '?'} at={place}"

    def format(self, record: logging.LogRecord) -> str:
        """The line; a line break inside becomes visible, so that nobody writes a line of their own."""
        record.exc_text = None
        return " ".join(super().format(record).splitlines())


CONFIGURATION: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": Line,
            "fmt": "%(asctime)s %(levelname)s %(name)s %(message)s",
            "datefmt": "%Y-%m-%dT%H:%M:%S%z",
        }
    },
    "handlers": {
        "log": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}
    },
    "root": {"handlers": ["log"], "level": "WARNING"},
    "loggers": {
        "dalenius": {"handlers": ["log"], "level": "INFO", "propagate": False},
        "uvicorn": {"handlers": ["log"], "level": "INFO", "propagate": False},
    },
}
"""For logging.config.dictConfig. Warnings of other libraries are written in the same way."""
