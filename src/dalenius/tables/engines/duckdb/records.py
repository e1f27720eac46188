"""Cutting the bytes of a CSV file into records, so that a broken one can spoil only itself.

A record is a line: it ends at a line feed, with or without a carriage return before it, and nowhere else. A field that
begins with a quote ends at the next quote that is not doubled, which a separator or the end of the record must
follow; until there, separators are part of it. A quote elsewhere is a sign like any other.

What if a quoted field does not end on its line? There are two rules, and which one holds is public:

"lines"     (the default) a record never goes on: such a line is broken.
"quoted"    line breaks may stand inside quotes, as programs write them that quote what people typed. The record goes on
            over further lines, if it can be read that way to its end, with the right number of fields and no quote
            out of place; else its first line alone is broken, and the next line begins a record.

Broken records are left out, and so are records with another number of fields.

WHY A RECORD CAN ONLY SPOIL ITSELF. Under "lines" each line is read by itself. Under "quoted" that holds as long as
every record was written by a program that doubles quotes inside quotes: text inside quotes cannot end its field. One
line that was not (`1,2,"abc`) can swallow all that follows up to a quoted field which begins with a line break or a
separator. So whoever owns the file must say so.

The work is done on large pieces with NumPy; only lines that are odd are looked at one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dalenius.tables.facts.schema import Records

PIECE = 8 * 2**20
LONGEST = 64 * 2**20
"""No record is longer: a longer line is left out, and a quote that is not closed within so many bytes is odd."""

Bytes: TypeAlias = NDArray[np.uint8]
Places: TypeAlias = NDArray[np.int64]
Truth: TypeAlias = NDArray[np.bool_]

QUOTE, FEED, RETURN = 34, 10, 13
QUOTED = re.compile(rb'"(?:[^"]++|"")*+"')


@dataclass(frozen=True)
class Cutter:
    """separator: one byte. fields: how many a record has. rule: see above."""

    separator: int
    fields: int
    rule: Records = "lines"
    longest: int = LONGEST

    def cut(self, stream: Any, piece: int = PIECE) -> Iterator[bytes]:
        """Pieces that hold whole records only, none of them broken but by its number of fields."""
        held = b""
        last = False
        while not last:
            block = stream.read(piece)
            last = not block
            held += block
            if len(held) > self.longest + piece and b"\n" not in held[: self.longest]:
                held = self._after_line(held, stream)
            good, used = self.whole(held, last)
            held = held[used:]
            if good:
                yield good

    def _after_line(self, held: bytes, stream: Any) -> bytes:
        """What follows a line that is too long to be one."""
        while (end := held.find(b"\n")) < 0:
            held = stream.read(PIECE)
            if not held:
                return b""
        return held[end + 1 :]

    def whole(self, data: bytes, last: bool) -> tuple[bytes, int]:
        """The good records at the front, and how many bytes are settled; the rest needs what follows it."""
        if last and data and not data.endswith(b"\n"):
            # The end of the file ends the last record as a line feed would.
            good, _ = self.whole(data + b"\n", True)
            return good, len(data)
        if b'"' not in data:
            end = data.rfind(b"\n") + 1
            return data[:end], end
        signs = np.frombuffer(data, np.uint8)
        quotes, feeds = np.flatnonzero(signs == QUOTE), np.flatnonzero(signs == FEED)
        ends = feeds[np.searchsorted(quotes, feeds) % 2 == 0] + 1
        end = int(ends[-1]) if ends.size else 0
        settled = len(data) - end <= (0 if last else self.longest)
        if settled and self._strict(signs[:end], quotes[quotes < end], feeds[feeds < end], ends):
            return data[:end], end
        return self._one_by_one(data, signs, quotes, feeds, last)

    def _strict(
        self,
        signs: Bytes,
        quotes: Places,
        feeds: Places,
        ends: Places,
    ) -> bool:
        """Whether quotes open and close in turn, each where it may, and what goes on over lines may do so."""
        if not self._opens(signs, quotes[::2]).all() or not self._closes(signs, quotes[1::2]).all():
            return False
        if len(ends) == len(feeds):
            return True
        if self.rule == "lines" or np.diff(ends, prepend=0).max() > self.longest:
            return False
        separators = np.flatnonzero(signs == self.separator)
        separators = separators[np.searchsorted(quotes, separators) % 2 == 0]
        fields = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
        lines = np.diff(np.searchsorted(feeds, ends), prepend=0)
        return bool((fields[lines > 1] == self.fields).all())

    def _opens(self, signs: Bytes, at: Places) -> Truth:
        """Whether a quote is where one may open: at the start of a field, or as the second of two."""
        before = signs[np.maximum(at - 1, 0)]
        may_open: Truth = (at == 0) | (before == self.separator) | (before == FEED) | (before == QUOTE)
        return may_open

    def _closes(self, signs: Bytes, at: Places) -> Truth:
        """Whether a quote is where one may close: at the end of a field, or as the first of two."""
        top = len(signs) - 1
        after, beyond = signs[np.minimum(at + 1, top)], signs[np.minimum(at + 2, top)]
        ends = (after == self.separator) | (after == FEED) | ((after == RETURN) & (beyond == FEED))
        may_close: Truth = ends | ((after == QUOTE) & (at < top))
        return may_close

    def _one_by_one(
        self,
        data: bytes,
        signs: Bytes,
        quotes: Places,
        feeds: Places,
        last: bool,
    ) -> tuple[bytes, int]:
        starts = np.concatenate([[0], feeds[:-1] + 1]) if feeds.size else feeds
        odd = np.flatnonzero(~self._alone(signs, quotes, feeds))
        kept, done, end = [], 0, int(feeds[-1]) + 1 if feeds.size else 0
        for line in odd:
            start, stop = int(starts[line]), int(feeds[line]) + 1
            if start < done:  # inside the record before
                continue
            record_end = self._record(data, start, stop)
            if record_end is None and not last and len(data) - start <= self.longest:
                kept.append(data[done:start])
                return b"".join(kept), start
            kept.append(data[done : record_end or start])
            done = record_end or stop
        end = max(end, done)
        kept.append(data[done:end])
        return b"".join(kept), end

    def _alone(self, signs: Bytes, quotes: Places, feeds: Places) -> Truth:
        """Lines that are surely good by themselves: every quote in its place, or none that opens a field."""
        quotes = quotes[quotes < (feeds[-1] if feeds.size else 0)]
        line = np.searchsorted(feeds, quotes)
        first = np.searchsorted(quotes, np.concatenate([[0], feeds[:-1] + 1])) if feeds.size else line
        turn = (np.arange(len(quotes)) - first[line]) & 1
        before = signs[np.maximum(quotes - 1, 0)]
        begins = (quotes == 0) | (before == self.separator) | (before == FEED)
        fine = np.where(turn == 0, self._opens(signs, quotes), self._closes(signs, quotes))
        count = np.bincount(line, minlength=len(feeds))
        paired = (count % 2 == 0) & (np.bincount(line, ~fine, minlength=len(feeds)) == 0)
        alone: Truth = paired | (np.bincount(line, begins, minlength=len(feeds)) == 0)
        return alone

    def _record(self, data: bytes, start: int, stop: int) -> int | None:
        """Where the record that begins here ends; 0 when it is broken; None when it does not end in the data.

        stop: the end of its first line. Beyond that nothing may be out of place.
        """
        at, fields = start, 1
        while True:
            if data[at] == QUOTE:
                match = QUOTED.match(data, at, min(len(data), start + self.longest))
                if match is None or match.end() >= len(data):
                    return None if self.rule == "quoted" else 0
                at = match.end()
                if at > stop and self.rule == "lines":
                    return 0
                if data[at] == RETURN and data[at + 1 : at + 2] in (b"", b"\n"):
                    at += 1
                if at >= len(data):
                    return None
                if data[at] not in (self.separator, FEED):
                    return 0
            else:
                match = self._unquoted.match(data, at)
                if match is None or match.end() >= len(data):
                    return None
                at = match.end()
                if at > stop and QUOTE in match[0]:
                    return 0
            at += 1
            if data[at - 1] == FEED:
                return at if at == stop or fields == self.fields else 0
            if at >= len(data):
                return None
            fields += 1

    @cached_property
    def _unquoted(self) -> re.Pattern[bytes]:
        return re.compile(rb"[^\n" + re.escape(bytes([self.separator])) + rb"]*+")
