"""What the collector does: reports from anywhere into shares or a mean."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from dalenius.core.arrays import Ints
from dalenius.core.record import JSON, headed, opened
from dalenius.errors import InvalidParameter
from dalenius.local.frequencies import Frequencies
from dalenius.local.mean_estimate import MeanEstimate
from dalenius.local.wire import parameters as wire
from dalenius.local.wire.client import REPORT, REPORTS, VERSION
from dalenius.local.wire.kind import Malformed
from dalenius.local.wire.means import WireMean
from dalenius.local.wire.parameters import Parameters, checked

TALLY, TALLY_VERSION = "dalenius local tally", 1

AT_ONCE, WAITING = 1 << 14, 1 << 26
"""Reports kept until they are counted: so many, or so many bytes of sets of answers."""

BLANK = ("", "\n", "\r\n", b"", b"\n", b"\r\n")

MOST_NUMBERS = 1 << 28
"""Reports of numbers that one mean is estimated from (2 GiB)."""

LONGEST = 1 << 26
"""Bytes of one message; a longer one is refused unread."""


class Aggregator:
    """Counts the reports of one survey, from any process and any language, and estimates from the counts.

    A message that is not a report of the survey is counted in `rejected`, by what is wrong with it, and changes nothing
    else: nobody can spoil the reports of others. Whoever sends many well-formed reports can move the estimates, here
    as in every survey: who may report, and how often, is for the collector to hold.

    Parameters
    ----------
    parameters
        What everybody in the survey knows.

    Examples
    --------
    >>> import dalenius as dp
    >>> public = dp.local.Parameters(dp.local.RandomizedResponse(epsilon=3.0, k=2)).to_json()
    >>> client, collector = dp.local.Client.from_json(public), dp.local.Aggregator.from_json(public)
    >>> collector.read([client.report(1) for _ in range(50)] + ["nonsense"])
    50
    >>> collector.people, dict(collector.rejected)
    (50, {'not JSON': 1})
    >>> collector.estimate().conf_int().shape
    (2, 2)
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = checked(parameters)
        self.rejected: Counter[str] = Counter()
        self._tally: Ints = np.zeros(self._size, dtype=np.int64)
        self._counted = 0
        self._waiting: list[Any] = []

    @property
    def _size(self) -> int:
        kind = self.parameters.kind
        if isinstance(kind, WireMean):
            return kind.places(self.parameters.constants)
        return int(self.parameters.mechanism.tally_size)

    @property
    def people(self) -> int:
        """The number of reports accepted."""
        return self._counted + len(self._waiting)

    def add(self, message: str | bytes) -> int:
        """Count one message: a report, or a batch of them.

        Parameters
        ----------
        message
            What a client sent.

        Returns
        -------
        int
            How many reports were accepted. Nothing is raised for what was not.
        """
        try:
            if len(message) > LONGEST:
                return self._reject("too long")
            record = json.loads(message)
        except (TypeError, ValueError, RecursionError):
            return self._reject("not JSON")
        format = record.get("format") if isinstance(record, dict) else None
        if format not in (REPORT, REPORTS):
            return self._reject("not a report")
        if record.get("version") != VERSION or type(record.get("version")) is not int:
            return self._reject("another version")
        if record.get("survey") != self.parameters.survey:
            return self._reject("another survey")
        reports = record.get("reports") if format == REPORTS else [record.get("report")]
        if type(reports) is not list:
            return self._reject("malformed")
        return sum(self._accept(report) for report in reports)

    def read(self, messages: Iterable[str | bytes]) -> int:
        """Count many messages, such as the lines of an open file; empty lines are skipped.

        Parameters
        ----------
        messages
            One message each.

        Returns
        -------
        int
            How many reports were accepted.

        Raises
        ------
        InvalidParameter
            If it is a single message.
        """
        given: Any = messages
        if isinstance(given, str | bytes) or not isinstance(given, Iterable):
            raise InvalidParameter.of(
                "messages",
                "messages must be a list of messages, or an open file; add(...) takes a single one.",
            )
        return sum(
            self.add(message)
            for message in given
            if not (isinstance(message, str | bytes) and message in BLANK)
        )

    def merge(self, other: Any) -> None:
        """Add what another aggregator of the same survey has counted.

        Parameters
        ----------
        other
            The other one.

        Raises
        ------
        InvalidParameter
            If its parameters are not the same.
        """
        if not isinstance(other, Aggregator) or other.parameters.to_json() != self.parameters.to_json():
            raise InvalidParameter.of("other", "other must be an Aggregator of the same survey.")
        self._tally = self.tally + other.tally
        self._counted += other.people
        self.rejected += other.rejected

    def estimate(self, categories: Any = None) -> Frequencies | MeanEstimate:
        """Shares of the answers, or the mean, with intervals.

        Parameters
        ----------
        categories
            What the answers are called; as the survey does if left out.

        Returns
        -------
        Frequencies or MeanEstimate
            What the reports say.

        Raises
        ------
        InvalidParameter
            If there are too few reports.
        """
        m = self.parameters.mechanism
        kind = self.parameters.kind
        if not isinstance(kind, WireMean):
            return Frequencies(m, self.tally, self.people, categories or self.parameters.categories)
        if self.people > MOST_NUMBERS:
            raise InvalidParameter(
                f"there are {self.people} reports; one mean is estimated from at most 2^28. Estimate the means of "
                "several aggregators, and take their mean."
            )
        reports = np.repeat(kind.decoded(m, self.parameters.constants), self.tally)
        return MeanEstimate(m, reports, self.parameters.loss)

    @property
    def tally(self) -> Ints:
        """What was counted: the mechanism's own tally, or how often each report occurred."""
        if self._waiting:
            m, rows = self.parameters.mechanism, self._waiting
            if self.parameters.is_for_numbers:
                self._tally = self._tally + np.bincount(rows, minlength=self._size)
            elif isinstance(rows[0], bytes):
                width = len(rows[0])
                self._tally = self._tally + m.tally(
                    np.frombuffer(b"".join(rows), np.uint8).reshape(-1, width)
                )
            else:
                self._tally = self._tally + m.tally(np.array(rows, dtype=np.int64))
            self._counted, self._waiting = self._counted + len(rows), []
        return self._tally

    def to_json(self) -> str:
        """What was counted so far, to go on elsewhere or to be merged. It may be published.

        Returns
        -------
        str
            JSON, which `from_json` reads.
        """
        content = {
            "parameters": self.parameters.record(),
            "people": self.people,
            "tally": [[int(place), int(self.tally[place])] for place in np.flatnonzero(self.tally)],
            "rejected": dict(sorted(self.rejected.items())),
        }
        return headed(TALLY, TALLY_VERSION, content)

    @staticmethod
    def from_json(text: str) -> Aggregator:
        """An aggregator of the survey of a public message, or one that goes on from what another counted.

        Parameters
        ----------
        text
            What `Parameters.to_json` or `Aggregator.to_json` returned.

        Returns
        -------
        Aggregator
            The aggregator.

        Raises
        ------
        InvalidParameter
            If it is neither.
        """
        try:
            heading = json.loads(text)
        except (ValueError, TypeError, RecursionError):
            heading = None
        if not isinstance(heading, dict) or heading.get("format") != TALLY:
            return Aggregator(Parameters.from_json(text))
        record = opened(heading, TALLY, TALLY_VERSION)
        try:
            found = Aggregator(wire.read(record["parameters"]))
            places, counts = [[row[side] for row in record["tally"]] for side in (0, 1)]
            people, rejected = record["people"], record["rejected"]
            numbers = [people, *places, *counts, *rejected.values()]
            if not all(type(number) is int and 0 <= number < 1 << 62 for number in numbers):
                raise ValueError
            if len(set(places)) < len(places) or any(place >= found._size for place in places):
                raise ValueError
            if any(count > people for count in counts):
                raise ValueError
            if found.parameters.is_for_numbers and sum(counts) != people:
                raise ValueError
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
            if isinstance(problem, InvalidParameter):
                raise
            raise InvalidParameter("this dalenius local tally is not written as we write them.") from None
        found._tally[places] = counts
        found._counted, found.rejected = people, Counter(rejected)
        return found

    def _accept(self, report: JSON) -> int:
        try:
            self._waiting.append(self.parameters.kind.row(self.parameters.constants, report))
        except Malformed:
            return self._reject("malformed")
        row = self._waiting[-1]
        if len(self._waiting) >= min(AT_ONCE, WAITING // len(row) if isinstance(row, bytes) else AT_ONCE):
            _ = self.tally
        return 1

    def _reject(self, why: str) -> int:
        self.rejected[why] += 1
        return 0
