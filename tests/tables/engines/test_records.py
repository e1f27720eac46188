"""Cutting CSV files into records: against the definition, sign by sign, and with a record more or less."""

from __future__ import annotations

import io
import random
from collections import Counter

import pytest

from dalenius.tables.engines.duckdb.csv import _columns
from dalenius.tables.engines.duckdb.records import Cutter
from dalenius.tables.facts.schema import Records

Row = tuple[bytes, ...]


def split(line: bytes, strict: bool) -> list[bytes] | str | None:
    """The fields of a record by itself; "open" when a quoted field does not end, None when it is broken."""
    fields, at = [], 0
    while True:
        if line[at : at + 1] == b'"':
            at, value = at + 1, b""
            while True:
                if at >= len(line):
                    return "open"
                if line[at : at + 2] == b'""':
                    value, at = value + b'"', at + 2
                elif line[at : at + 1] == b'"':
                    at += 1
                    break
                else:
                    value, at = value + line[at : at + 1], at + 1
        else:
            end = line.find(b",", at)
            value = line[at:] if end < 0 else line[at:end]
            if strict and b'"' in value:
                return None
            at += len(value)
        fields.append(value)
        if at >= len(line):
            return fields
        if line[at : at + 1] != b",":
            return None
        at += 1


def ended(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def reference(data: bytes, fields: int, rule: Records) -> list[Row]:
    """The definition in `records`, literally and slowly."""
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    found, at = [], 0
    while at < len(lines):
        told = split(lines[at].removesuffix(b"\r"), False)
        upto = at + 1
        if told == "open" and rule == "quoted":
            for end in range(at + 2, len(lines) + 1):
                whole = b"\n".join(lines[at:end]).removesuffix(b"\r")
                longer = split(whole, False)
                if longer == "open":
                    continue
                # Beyond its first line nothing may be out of place.
                if isinstance(longer, list) and len(longer) == fields and _tidy(lines[at], whole):
                    told, upto = longer, end
                break
        if isinstance(told, list) and len(told) == fields and not (fields > 1 and lines[at] in (b"", b"\r")):
            found.append(tuple(told))
        at = upto
    return found


def _tidy(first: bytes, whole: bytes) -> bool:
    """Whether the fields that end beyond the first line are written as they should be."""
    at = 0
    while at < len(whole):
        if whole[at : at + 1] == b'"':
            end = at + 1
            while whole[end : end + 2] == b'""' or whole[end : end + 1] != b'"':
                end += 2 if whole[end : end + 2] == b'""' else 1
            at = end + 2
        else:
            end = whole.find(b",", at) if b"," in whole[at:] else len(whole)
            if end > len(first) and b'"' in whole[at:end]:
                return False
            at = end + 1
    return True


NOT_TEXT = b"\xff"
"""A field that is not UTF-8, which is read as missing."""


def read(data: bytes, fields: int, rule: Records, piece: int) -> list[Row]:
    cutter = Cutter(ord(","), fields, rule)
    found: list[Row] = []
    for part in cutter.cut(io.BytesIO(data), piece):
        columns = [column.to_pylist() for column in _columns(part, cutter).columns]
        found += [
            tuple(NOT_TEXT if value is None else value.encode() for value in row)
            for row in zip(*columns, strict=True)
        ]
    return found


SIGNS = [
    b"a",
    b"1",
    b",",
    b'"',
    b'"',
    b"\n",
    b"\n",
    b"\r",
    b"\r\n",
    b'""',
    b'","',
    b'"\n',
    b"a,b\n",
    b"\x00",
    b" ",
]


@pytest.mark.parametrize("rule", ["quoted", "lines"])
@pytest.mark.parametrize("fields", [1, 2, 3])
def test_records_are_cut_by_the_definition(rule: Records, fields: int) -> None:
    rnd = random.Random(fields)
    for _ in range(400):
        data = b"".join(rnd.choice(SIGNS) for _ in range(rnd.randrange(30)))
        wanted = reference(data, fields, rule)
        for piece in (1 << 20, rnd.randrange(1, 9)):
            assert read(data, fields, rule, piece) == wanted, (data, piece)


GOOD = [
    b"1,x",
    b'2,"x, y"',
    b'3,"say ""hi"""',
    b"4,",
    b'5,"two\nlines"',
    b"6,\xc3\xa9",
    b"7,z\r",
    b'8,""',
    b'9,","',
]
PIECES = [7, 1 << 20]
BROKEN = [
    *(b'8,"open', b'8,"', b'"8,x', b'8,x"', b'8,"x"y', b"8,5'11\"", b"8", b"8,x,y", b"", b"8,x\ry", b"8\r,x"),
    *(b"8,x\r", b"8,\x00", b"8,\xff\xfe", b'8,"\xff', b"\xef\xbb\xbf8,x", b'"', b'""', b'"""', b'8,"",'),
    *(b"8," + b"y" * 70_000, b'8,"' + b"y" * 70_000),
]


@pytest.mark.parametrize(("rule", "others"), [("lines", GOOD + BROKEN[:-2]), ("quoted", GOOD)])
@pytest.mark.parametrize("nasty", BROKEN + GOOD, ids=range(len(BROKEN + GOOD)))
def test_one_record_can_only_spoil_itself(nasty: bytes, rule: Records, others: list[bytes]) -> None:
    """Under "lines" beside any other lines; under "quoted" beside records that are written as they should be."""
    if rule == "lines" and b"\n" in nasty:
        nasty = nasty.replace(b"\n", b" ")
    rnd = random.Random(len(nasty))
    for _ in range(12):
        lines = [rnd.choice(others) for _ in range(8)]
        at = rnd.randrange(9)
        without, beside = (
            Counter(
                read(
                    b"".join(line + b"\n" for line in some),
                    2,
                    rule,
                    rnd.choice(PIECES if len(nasty) < 99 else PIECES[1:]),
                )
            )
            for some in (lines, [*lines[:at], nasty, *lines[at:]])
        )
        assert not without - beside, (lines, at)
        assert (beside - without).total() <= 1


def test_what_stands_in_quotes_is_one_record_however_it_is_cut() -> None:
    text = b'1,a\n2,"' + b'7,y\n"",""\n' * 50 + b'"\n3,c\n'
    for piece in (1 << 20, 100, 7):
        assert [row[0] for row in read(text, 2, "quoted", piece)] == [b"1", b"2", b"3"]
    assert len(read(text, 2, "lines", 100)) > 3  # there each line is a record: that is what the rule says


def test_lines_that_are_too_long_are_left_out() -> None:
    cutter = Cutter(ord(","), 2, "quoted", longest=100)
    for long in (b"2," + b"x" * 1000, b'2,"' + b"x" * 1000):
        data = b"1,a\n" + long + b"\n3,c\n"
        assert b"".join(cutter.cut(io.BytesIO(data), 50)) == b"1,a\n3,c\n"
