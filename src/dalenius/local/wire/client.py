"""What one person does: a report of their own answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.record import JSON, headed
from dalenius.errors import InvalidParameter
from dalenius.local.wire.means import GRID
from dalenius.local.wire.parameters import Parameters, checked
from dalenius.local.wire.words import secure

REPORT, REPORTS, VERSION = "dalenius local report", "dalenius local reports", 1
SHOWN = 20
"""Categories that a message lists."""


@dataclass(frozen=True)
class Client:
    """Makes reports of one survey, on a person's own machine, as the client in JavaScript does.

    A second report of the same person costs as much again: a person should send one, or the same one again.

    Parameters
    ----------
    parameters
        What everybody in the survey knows.

    Examples
    --------
    >>> import json
    >>> import dalenius as dp
    >>> m = dp.local.RandomizedResponse(epsilon=1.0, k=3)
    >>> public = dp.local.Parameters(m, survey="colours", categories=("red", "green", "blue")).to_json()
    >>> client = dp.local.Client.from_json(public)
    >>> sorted(json.loads(client.report("green")))
    ['format', 'report', 'survey', 'version']
    >>> client.loss.epsilon(delta=0.0)
    1.0
    """

    parameters: Parameters

    def __post_init__(self) -> None:
        checked(self.parameters)

    @staticmethod
    def from_json(text: str) -> Client:
        """A client for the survey of a public message.

        Parameters
        ----------
        text
            What `Parameters.to_json` returned.

        Returns
        -------
        Client
            The client.

        Raises
        ------
        InvalidParameter
            If the message does not keep the epsilon it states, or is no such message.
        """
        return Client(Parameters.from_json(text))

    @property
    def loss(self) -> Loss:
        """What one report costs."""
        return self.parameters.loss

    def report(self, value: Any) -> str:
        """The message to send.

        Parameters
        ----------
        value
            The person's answer: a category if the survey names them, else a whole number from 0 to k - 1; or the
            person's number, which is moved into the bounds if it is outside.

        Returns
        -------
        str
            JSON.

        Raises
        ------
        InvalidParameter
            If the value is not of the kind described. The message does not show it.
        """
        return self._message(REPORT, report=self._draw(value, secure()))

    def reports(self, values: Any) -> str:
        """One message with the reports of several people.

        Parameters
        ----------
        values
            One value for each person, as for `report`.

        Returns
        -------
        str
            JSON.

        Raises
        ------
        InvalidParameter
            If a value is not of the kind described.
        """
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise InvalidParameter.of(
                "values", "values must hold one value for each person; report(...) takes one."
            )
        return self._message(REPORTS, reports=[self._draw(value, secure()) for value in values])

    def _draw(self, value: Any, words: Iterator[int]) -> JSON:
        """The report alone, decided by these words: the secure source's, but in tests that compare clients."""
        p = self.parameters
        place = self._on_grid(value) if p.is_for_numbers else self._answer(value)
        return p.kind.draw(p.constants, place, words)

    def _message(self, format: str, **content: JSON) -> str:
        return headed(format, VERSION, {"survey": self.parameters.survey, **content})

    def _answer(self, value: Any) -> int:
        categories, k = self.parameters.categories, self.parameters.mechanism.k
        if categories:
            if isinstance(value, str) and value in categories:
                return categories.index(value)
            listed = ", ".join(categories[:SHOWN]) + (", ..." if len(categories) > SHOWN else "")
            raise InvalidParameter.of("value", f"value is not one of the categories of the survey: {listed}.")
        try:
            answer = checks.count("value", value)
        except InvalidParameter:
            answer = k
        if answer >= k:
            raise InvalidParameter.of("value", f"value must be a whole number from 0 to {k - 1}.")
        return answer

    def _on_grid(self, value: Any) -> int:
        low, high = map(float, self.parameters.mechanism.bounds)
        try:
            number = checks.number("value", value)
        except InvalidParameter:
            raise InvalidParameter.of("value", "value must be a finite number.") from None
        # The same operations on doubles, in the same order, as in client.js.
        return math.floor((min(max(number, low), high) - low) / (high - low) * GRID)
