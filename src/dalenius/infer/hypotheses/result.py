"""What a test returns: the statistic, the p-value, and what they cost."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, ClassVar

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.loss import checked as checked_loss
from dalenius.calculus.saved import loss_record, read_loss
from dalenius.core import checks
from dalenius.core.record import exact, headed, opened
from dalenius.errors import InvalidParameter
from dalenius.infer.summary import WIDTH, privacy

FORMAT, VERSION = "dalenius test result", 1


class TestResult:
    """The outcome of a test: a p-value that allows for the noise.

    Functions of `dalenius.infer` return it. All of it is post-processing of what they released, and can be published.
    When the hypothesis holds, the p-value is at most a with a chance of at most a.

    Parameters
    ----------
    method
        The test, in a few words.
    hypothesis
        What is tested, in a sentence.
    statistic
        The test statistic, as released or computed from what was.
    pvalue
        Between 0 and 1.
    loss
        What the release cost; None where numbers that were paid for elsewhere are tested.
    released
        The released numbers by name.
    estimates
        Numbers a reader of the test wants beside it, by name.
    notes
        Sentences a reader must know.

    Raises
    ------
    InvalidParameter
        If the p-value is not between 0 and 1.

    Examples
    --------
    >>> import dalenius as dp
    >>> from dalenius.infer import TestResult
    >>> found = TestResult("binomial test", "the share is 0.5", 61.2, 0.031, loss=dp.losses.pure(1.0))
    >>> found.pvalue, found.rejects(0.05), TestResult.from_json(found.to_json()).statistic
    (0.031, True, 61.2)
    """

    __test__: ClassVar[bool] = False  # not a class of tests, whatever pytest thinks

    def __init__(
        self,
        method: str,
        hypothesis: str,
        statistic: float,
        pvalue: float,
        *,
        loss: Loss | None = None,
        released: Mapping[str, object] | None = None,
        estimates: Mapping[str, float] | None = None,
        notes: Iterable[str] = (),
    ) -> None:
        self.method, self.hypothesis = str(method), str(hypothesis)
        self.statistic = float(statistic)
        self.pvalue = checks.probability("pvalue", pvalue)
        self.loss = None if loss is None else checked_loss(loss, "TestResult")
        self.released = {
            name: np.asarray(value, dtype=np.float64) for name, value in (released or {}).items()
        }
        self.estimates = {name: float(value) for name, value in (estimates or {}).items()}
        self.notes = tuple(str(note) for note in notes)

    def rejects(self, level: float = 0.05) -> bool:
        """Whether the hypothesis is rejected at a level.

        Parameters
        ----------
        level
            The chance to reject a hypothesis that holds.

        Returns
        -------
        bool
            Whether the p-value is at most the level.

        Raises
        ------
        InvalidParameter
            If the level is not between 0 and 1.
        """
        return self.pvalue <= checks.open_probability("level", level)

    def with_loss(self, loss: Loss) -> TestResult:
        """The same test, where the release cost something else: all rows of a unit, say.

        Parameters
        ----------
        loss
            What it cost.

        Returns
        -------
        TestResult
            With the same numbers.
        """
        return TestResult(
            self.method,
            self.hypothesis,
            self.statistic,
            self.pvalue,
            loss=loss,
            released=self.released,
            estimates=self.estimates,
            notes=self.notes,
        )

    def summary(self) -> str:
        """A few lines to print.

        Returns
        -------
        str
            Several lines.
        """
        found = self._lines()
        wide = max(20, *(len(name) + 2 for name, _ in found))
        lines = [
            textwrap.fill(f"{name + ':':<{wide}}{text}", max(WIDTH, wide + 20), subsequent_indent=" " * wide)
            for name, text in found
        ]
        notes = [textwrap.fill(f"- {note}", WIDTH, subsequent_indent="  ") for note in self.notes]
        return "\n".join(["=" * WIDTH, *lines, "=" * WIDTH, *notes, *(["=" * WIDTH] if notes else [])])

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in self._lines()
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<table>{rows}</table>" + (f"<ul>{notes}</ul>" if notes else "")

    def _lines(self) -> list[tuple[str, str]]:
        paid = "paid for where the numbers were released" if self.loss is None else privacy(self.loss)
        return [
            ("Test", self.method),
            ("Hypothesis", self.hypothesis),
            ("Privacy", paid),
            ("Statistic", f"{self.statistic:.5g}"),
            ("p value", f"{self.pvalue:.4f}" if self.pvalue >= 1e-4 else f"{self.pvalue:.1e}"),
            *((name[:1].upper() + name[1:], f"{value:.5g}") for name, value in self.estimates.items()),
        ]

    def to_json(self) -> str:
        """The result as text to keep: tags, exact numbers and a version.

        Returns
        -------
        str
            JSON; `TestResult.from_json` reads it.

        Raises
        ------
        InvalidParameter
            If the loss rests on a function (`losses.rdp`), which cannot be written down.
        """
        content = {
            "test": self.method,
            "hypothesis": self.hypothesis,
            "statistic": exact(self.statistic),
            "p": exact(self.pvalue),
            "loss": None if self.loss is None else loss_record(self.loss),
            "released": {
                name: {"shape": list(value.shape), "values": [exact(x) for x in value.ravel()]}
                for name, value in self.released.items()
            },
            "estimates": {name: exact(value) for name, value in self.estimates.items()},
            "notes": list(self.notes),
        }
        for name, kept in (("estimates", self.estimates), ("released", self.released)):
            if list(kept) != sorted(kept):
                content[f"order of {name}"] = list(kept)
        return headed(FORMAT, VERSION, content)

    @classmethod
    def from_json(cls, text: str) -> TestResult:
        """The result that `to_json` wrote.

        Parameters
        ----------
        text
            What `to_json` returned, of this version of the format or an earlier one.

        Returns
        -------
        TestResult
            With the same numbers.

        Raises
        ------
        InvalidParameter
            If the text is not a saved result, or of a newer version.
        """
        record = opened(text, FORMAT, VERSION)
        try:
            return cls(
                record["test"],
                record["hypothesis"],
                float(record["statistic"]),
                float(record["p"]),
                loss=None if record["loss"] is None else read_loss(record["loss"]),
                released={
                    name: np.array([float(x) for x in kept["values"]]).reshape(kept["shape"])
                    for name, kept in _ordered(record, "released")
                },
                estimates={name: float(value) for name, value in _ordered(record, "estimates")},
                notes=list(record["notes"]),
            )
        except InvalidParameter:
            raise
        except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise InvalidParameter(f"this {FORMAT} is not written as we write them.") from None


def _ordered(record: Mapping[str, Any], name: str) -> list[tuple[str, Any]]:
    """The entries of a part in the order they were made in; a record without one is in that of names."""
    kept = record[name]
    order = record.get(f"order of {name}", sorted(kept))
    if sorted(order) != sorted(kept):
        raise ValueError
    return [(key, kept[key]) for key in order]
