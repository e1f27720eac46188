"""CSV files, read once when they are opened, into a table that is in its clean form from then on.

The first line is public: it names the columns and shows the separator. What one record is, and what becomes of a broken
one, is written in `records`. An empty value is missing, and so is one that does not read as the type of its column;
text that is not UTF-8 is missing. Types that the schema does not state are guessed from the first records,
see `guessing`: names and types are taken to be public.

The table is kept in a file of its own in a private folder. Its name is removed before anything is written, so that
nothing of the data stays behind however the process ends, but for what a log holds at the moment of the commit.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import io
import itertools
import os
import re
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow

from dalenius.errors import SourceError
from dalenius.tables.engines.duckdb import connection
from dalenius.tables.engines.duckdb.guessing import SAMPLE, clean_as, guessed, read_as
from dalenius.tables.engines.duckdb.records import Cutter
from dalenius.tables.engines.engine import Engine
from dalenius.tables.engines.opened import Opened
from dalenius.tables.engines.place import shown
from dalenius.tables.engines.sqltext import numbers, selected, text
from dalenius.tables.facts.kinds import Kind
from dalenius.tables.facts.schema import Schema

PLAIN = (".csv", ".tsv", ".txt")
ENDINGS = (*PLAIN, *(ending + squeezed for ending in PLAIN for squeezed in (".gz", ".zst")))
SEPARATORS = ",;\t|"
HEAD = 2**20
"""The first line is no longer."""

EMPTY = "''"
MARK = b"\xef\xbb\xbf"
"""What some programs write before UTF-8; Arrow passes over it at the start of any piece."""

RETURN = re.compile("\r(?!\n)")
STAND_IN = "\u0100"
"""A sign that is no byte."""


def open_csv(engine: Engine, path: str, schema: Schema, called: str, beside: Any = None) -> Opened:
    """A CSV file, or several of the same columns."""
    backend = connection.reaching(connection.connect() if beside is None else beside, path)
    files = list(_files(path, backend))
    separator, names = _head(path, files[0])
    for file in files[1:]:
        if _head(path, file) != (separator, names):
            raise SourceError(
                f"the files of {shown(path)!r} must all have the same first line; open them apart."
            )
    batches = _batches(path, files, Cutter(ord(separator), len(names), schema.records))
    first = next(batches, None)
    kinds = _kinds(backend, names, first, schema)
    rows = _kept(backend, itertools.chain([] if first is None else [first], batches), kinds)
    fields = tuple(clean_as(kind, "").field(name) for kind, name in zip(kinds, names, strict=True))
    return Opened(rows, engine, called, fields, backend)


def _files(path: str, backend: Any) -> Iterator[Any]:
    """Something to open each file by: its path, or what is in it where only the engine can fetch it."""
    if "://" in path:
        for (content,) in connection.run(backend, f"SELECT content FROM read_blob({text(path)})"):
            yield bytes(content)
    elif Path(path).is_file():
        yield path
    else:
        yield from sorted(glob.glob(path, recursive=True))


def _stream(path: str, file: Any) -> Any:
    ending = Path(file if isinstance(file, str) else shown(path)).suffix.lower()
    squeezed = {".gz": "gzip", ".zst": "zstd"}.get(ending)
    return pa.input_stream(file if isinstance(file, str) else io.BytesIO(file), compression=squeezed)


def _head(path: str, file: Any) -> tuple[str, list[str]]:
    """The separator and the names of columns."""
    with _stream(path, file) as stream:
        line = io.BytesIO(stream.read(HEAD).removeprefix(MARK)).readline()
    first = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")
    separator = max(SEPARATORS, key=first.count)
    (names,) = csv.reader([first], delimiter=separator) if first and "\r" not in first else ([],)
    named = names and all(names) and first.count('"') % 2 == 0 and "\x00" not in first
    if not named or len(line) >= HEAD or len(set(names)) < len(names):
        raise SourceError(
            f"the first line of {shown(path)!r} must name every column, each with a name of its own, and end in a line "
            "feed; add or change names, or save the file as UTF-8."
        )
    return separator, names


def _batches(path: str, files: Sequence[Any], cutter: Cutter) -> Iterator[Any]:
    """The records of all files, as Arrow tables of text, a few read ahead of what is asked for."""
    with ThreadPoolExecutor(2) as pool:
        ahead: deque[Future[Any]] = deque()
        for piece in _pieces(path, files, cutter):
            ahead.append(pool.submit(_columns, piece, cutter))
            if len(ahead) > 2:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def _pieces(path: str, files: Sequence[Any], cutter: Cutter) -> Iterator[bytes]:
    for file in files:
        with _stream(path, file) as stream:
            yield from cutter.cut(_Rest(stream))


class _Rest:
    """What follows the first line."""

    def __init__(self, stream: Any) -> None:
        head = stream.read(HEAD)
        self._held = head[head.find(b"\n") + 1 :] if b"\n" in head else b""
        self._stream = stream

    def read(self, size: int) -> bytes:
        if self._held:
            held, self._held = self._held, b""
            return held
        return bytes(self._stream.read(size))


def _columns(piece: bytes, cutter: Cutter) -> Any:
    """The columns of good records. A record of another number of fields is left out."""
    plain = piece.count(b"\r") == piece.count(b"\r\n") and not piece.startswith(MARK) and _is_utf8(piece)
    piece = piece if plain else _disguised(piece)
    names = [f"r{i}" for i in range(cutter.fields)]
    read = arrow.ReadOptions(column_names=names, block_size=len(piece) + 1, use_threads=True)
    parse = arrow.ParseOptions(
        delimiter=chr(cutter.separator),
        newlines_in_values=True,
        ignore_empty_lines=cutter.fields > 1,
        invalid_row_handler=lambda row: "skip",
    )
    types = dict.fromkeys(names, pa.string())
    convert = arrow.ConvertOptions(column_types=types, strings_can_be_null=False, check_utf8=False)
    table = arrow.read_csv(pa.py_buffer(piece), read, parse, convert)
    return table if plain else pa.table([_revealed(column) for column in table.columns], names=names)


def _is_utf8(piece: bytes) -> bool:
    try:
        return piece.isascii() or bool(piece.decode() or True)
    except UnicodeDecodeError:
        return False


def _disguised(piece: bytes) -> bytes:
    """Every byte as a sign of its own, and a sign for carriage returns inside a line: Arrow would end the line
    there, and fail on a record that is both too short and no UTF-8."""
    return RETURN.sub(STAND_IN, piece.decode("latin-1")).encode()


def _revealed(column: Any) -> Any:
    if pc.all(pc.string_is_ascii(column)).as_py() is not False:
        return column
    values = (value.replace(STAND_IN, "\r").encode("latin-1") for value in column.to_pylist())
    return pa.chunked_array([pa.array([valid(value) for value in values], pa.string())])


def valid(value: bytes | None) -> str | None:
    """Bytes as text; what is not UTF-8 is missing: mended, it could be taken for another text, or another unit."""
    if value is not None:
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode()
    return None


def _kinds(backend: Any, names: Sequence[str], first: Any, schema: Schema) -> list[Kind]:
    stated = [kind for name in names if (kind := schema[name].type) is not None]
    if len(stated) == len(names):
        return stated
    guesses = guessed(backend, None if first is None else first.slice(0, SAMPLE), len(names))
    return [schema[name].type or guess for name, guess in zip(names, guesses, strict=True)]


def _kept(backend: Any, batches: Iterator[Any], kinds: Sequence[Kind]) -> Any:
    """The clean columns in a table of DuckDB's, in a file that has no name any more."""
    number = next(numbers)
    file, place = connection.spill() / f"{number}.table", f"csv_{number}"
    schema = pa.schema([(f"r{i}", pa.string()) for i in range(len(kinds))])
    pieces = (batch for table in batches for batch in table.to_batches())
    connection.run(backend, f"ATTACH {text(str(file))} AS {place}")
    with contextlib.suppress(OSError):  # a system that does not part with open files removes it at the end
        os.unlink(file)
    connection.run(backend, "SET force_compression = 'uncompressed'")  # it is read a few times, not kept
    backend.con.register("records", pa.RecordBatchReader.from_batches(schema, pieces))
    values = ", ".join(f"{read_as(kind, f'nullif(r{i}, {EMPTY})')} AS r{i}" for i, kind in enumerate(kinds))
    cleans = selected([clean_as(kind, f"r{i}") for i, kind in enumerate(kinds)])
    connection.run(
        backend, f"CREATE TABLE {place}.clean AS SELECT {cleans} FROM (SELECT {values} FROM records)"
    )
    backend.con.unregister("records")
    connection.run(backend, f"CHECKPOINT {place}")
    return connection.table(backend, "clean", place, "main")
