"""A privacy report: a function that anybody can evaluate on their own record."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from dalenius.adaptive.personal.noisy_statistics import NoisyStatistics
from dalenius.adaptive.personal.perturbed_objective import PerturbedObjective
from dalenius.adaptive.personal.release import Release, Statement
from dalenius.adaptive.personal.worst_case import WorstCase
from dalenius.core import checks, notebook
from dalenius.core.record import headed, opened, unknown
from dalenius.errors import InvalidParameter

FORMAT, VERSION = "dalenius privacy report", 1
KINDS: dict[str, type[Release]] = {
    kind.tag: kind for kind in (PerturbedObjective, NoisyStatistics, WorstCase)
}
TOLD = {
    PerturbedObjective.tag: "a bound for each record, of a noisy objective",
    NoisyStatistics.tag: "a bound for each record, of noisy statistics",
    WorstCase.tag: "the worst case for everybody",
}
BASEL = 6 / math.pi**2
"""sum BASEL/i^2 = 1."""
RAREST = 1e-250
"""Any share of it that a release gets is still a number above 0."""


class PrivacyReport:
    """What was released cost the person with this record at most so much, whatever else is known.

    The cost is the privacy loss of what really came out: the absolute value of log p(released, with the record) - log
    p(released, without it). No observer's odds that the record was among the data can have moved by more than a
    factor exp(epsilon). The report is made of released and public numbers only, so it may be given to anybody.

    The bound fails with probability `failure` at most, over the noise. There are three statements, not to be mixed
    up: about one person, named before the release (`people=1`); about N people, named before (`people=N`); about
    every record there could be, at once (`people=math.inf`). One's own question about oneself is the first.

    Reports add up: `a + b` is the report of both releases. The i-th release gets 6/(pi i)^2 of the failure
    probability, so that any number of further ones can follow.

    Parameters
    ----------
    releases
        What was released, in order.
    more
        Whether further releases will follow and be added: the failure probability is then split from the first on.
    ceiling
        The worst case of all of them together, such as a budget.

    Examples
    --------
    >>> import numpy as np, dalenius as dp
    >>> X = np.random.default_rng(0).normal(size=(5000, 3)); y = (X[:, 0] > 0).astype(int)
    >>> model = dp.learn.LogisticRegression(dp.ApproxDP(1.0, 1e-6), row_norm=3.0).fit(X, y)
    >>> report = model.privacy_report_
    >>> typical, most = report.epsilon(X, y), report.worst()
    >>> bool(np.median(typical) < most / 2)
    True
    """

    def __init__(
        self, releases: Iterable[Release], *, more: bool = False, ceiling: WorstCase | None = None
    ) -> None:
        given: Any = releases
        parts: tuple[Any, ...] = tuple(given) if isinstance(given, Iterable) else (given,)
        if isinstance(given, str | bytes) or not all(isinstance(part, Release) for part in parts):
            raise InvalidParameter("a report is made of releases, such as those of other reports.")
        if not isinstance(ceiling, WorstCase | None):
            raise InvalidParameter(f"ceiling is {checks.shown(ceiling)}; it must be a worst case, or None.")
        self.releases: tuple[Release, ...] = parts
        self.more, self.ceiling = checks.flag("more", more), ceiling

    def epsilon(
        self, x: Any, y: Any = None, *, failure: float = 1e-6, people: float = 1, member: bool | None = None
    ) -> Any:
        """The most that the releases cost the people with these records.

        Parameters
        ----------
        x
            A record, or a table with one in every row; by position, or (dictionary, data frame) by the names of the
            columns.
        y
            The label of each record, where x does not name it.
        failure
            The probability, over the noise, that the statement fails.
        people
            For how many people it holds at once: 1, any number, or infinity for everybody.
        member
            Whether the record was among the data; None where that shall not be told: the larger of both.

        Returns
        -------
        float or ndarray
            One number for a record, one for each row of a table; infinity where there is no bound that fails so seldom
            (`explain` says why).

        Raises
        ------
        InvalidParameter
            If a record does not have the columns of the fits or was left out by them, or if a parameter is out of
            range.
        """
        single, member = _is_single(x), None if member is None else checks.flag("member", member)
        total: Any = 0.0
        for release, constants in zip(self.releases, self.constants(failure, people), strict=True):
            empty = np.zeros((0, 0))
            rows, labels = (empty, empty) if release.fields is None else release.fields.taken(x, y)
            total = total + release.bound(constants, rows, labels, member)
        total = np.minimum(np.asarray(total, dtype=float), self._most(failure, people))
        return float(total.ravel()[0]) if single else np.broadcast_to(total, (_count(x),)).copy()

    def worst(self, *, failure: float = 1e-6, people: float = 1) -> float:
        """The largest bound that any record could have, for the same kind of statement.

        Parameters
        ----------
        failure
            The probability, over the noise, that the statement fails.
        people
            For how many people it holds at once: 1, any number, or infinity for everybody.

        Returns
        -------
        float
            The bound.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range.
        """
        parts = zip(self.releases, self.constants(failure, people), strict=True)
        return min(sum(release.worst(constants) for release, constants in parts), self._most(failure, people))

    def explain(self, *, failure: float = 1e-6, people: float = 1) -> str:
        """The statement in words; where there is no bound, which releases stand in its way.

        Parameters
        ----------
        failure
            The probability, over the noise, that the statement fails.
        people
            For how many people it holds at once: 1, any number, or infinity for everybody.

        Returns
        -------
        str
            A sentence or two.

        Raises
        ------
        InvalidParameter
            If a parameter is out of range, or a release has no bound for everybody at once.
        """
        worst = self.worst(failure=failure, people=people)
        who = (
            "everybody at once"
            if people == math.inf
            else "one person"
            if people == 1
            else f"{people:g} people"
        )
        if math.isfinite(worst):
            return (
                f"Nobody's record cost more than epsilon = {worst:.4g}; this holds for {who}, but for a chance of "
                f"{failure:g} over the noise."
            )
        parts = zip(self.releases, self.constants(failure, people), strict=True)
        wild = [n for n, (release, own) in enumerate(parts, start=1) if math.isinf(release.worst(own))]
        names = f"release{'s' * (len(wild) != 1)} {', '.join(map(str, wild))}"
        return (
            f"There is no bound that fails with a chance of {failure:g} only: {names} of {len(self.releases)} may cost "
            "any epsilon at all with a probability, its delta, that is above its part of that chance. Allow a larger "
            "failure."
        )

    def constants(self, failure: float, people: float) -> list[dict[str, Any]]:
        """For each release, what its bound needs besides the record."""
        statement = _statement(failure, people).part(0.5 if self.ceiling is not None else 1.0)
        if len(self.releases) == 1 and not self.more:
            return [self.releases[0].constants(statement)]
        return [
            release.constants(statement.part(BASEL / i**2))
            for i, release in enumerate(self.releases, start=1)
        ]

    def _most(self, failure: float, people: float) -> float:
        """The ceiling, with the other half of the failure probability."""
        if self.ceiling is None:
            return math.inf
        try:
            return self.ceiling.worst(self.ceiling.constants(_statement(failure, people).part(0.5)))
        except InvalidParameter:  # none for everybody
            return math.inf

    def __add__(self, other: object) -> PrivacyReport:
        if not isinstance(other, PrivacyReport):
            return NotImplemented
        if self.ceiling is not None or other.ceiling is not None:
            raise InvalidParameter(
                "a report of a whole session has a ceiling of its own; add the parts instead."
            )
        return PrivacyReport((*self.releases, *other.releases), more=self.more or other.more)

    def __repr__(self) -> str:
        return f"PrivacyReport({self._counted}: {', '.join(f'{n} {tag}' for tag, n in self._kinds.items())})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        shown = [("privacy report of", self._counted)]
        shown += [(TOLD[tag], str(n)) for tag, n in self._kinds.items()]
        return notebook.table(
            [*shown, ("for one person", "report.epsilon({...}), or a page: report.save('cost.html')")]
        )

    @property
    def _counted(self) -> str:
        return f"{len(self.releases)} release{'s' * (len(self.releases) != 1)}"

    @property
    def _kinds(self) -> Counter[str]:
        return Counter(release.tag for release in self.releases)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrivacyReport) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    # -- files -----------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The report as text with a tag and a version; it holds nothing that was not released or public."""
        return headed(
            FORMAT,
            VERSION,
            {
                "releases": [{"kind": release.tag, **release.record()} for release in self.releases],
                "more": self.more,
                "ceiling": None if self.ceiling is None else self.ceiling.record(),
            },
        )

    @classmethod
    def from_json(cls, text: str) -> PrivacyReport:
        """The report that `to_json` wrote: it says the same to the last bit."""
        record = opened(text, FORMAT, VERSION)
        try:
            releases = []
            for part in record["releases"]:
                if part["kind"] not in KINDS:
                    raise unknown("a release", part["kind"], InvalidParameter)
                releases.append(KINDS[part["kind"]].from_record(part))
            ceiling = None if record["ceiling"] is None else WorstCase.from_record(record["ceiling"])
            return cls(releases, more=bool(record["more"]), ceiling=ceiling)
        except (KeyError, TypeError, ValueError, IndexError) as problem:
            if isinstance(problem, InvalidParameter):
                raise
            raise InvalidParameter("this dalenius privacy report is not written as we write them.") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file: JSON, or, for a name that ends in .html, a page that evaluates it."""
        target = checks.path("path", path)
        text = self.page() if target.suffix.lower() in (".html", ".htm") else self.to_json() + "\n"
        try:
            target.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise InvalidParameter(f"{os.fspath(target)!r} cannot be written: {problem.strerror}.") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PrivacyReport:
        """The report in a JSON file that `save` wrote."""
        source = checks.path("path", path)
        try:
            text = source.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            raise InvalidParameter(
                f"there is no privacy report to be read in {os.fspath(source)!r}."
            ) from None
        return cls.from_json(text)

    def page(self, *, title: str = "What did this release cost me?", failure: float = 1e-6) -> str:
        """One HTML page, complete in itself, in which a person types their record and sees their own bound."""
        from dalenius.adaptive.personal.page import page

        return page(self, title, _statement(failure, 1).failure)


def _statement(failure: object, people: object) -> Statement:
    chance = checks.number("failure", failure)
    if not RAREST <= chance < 1:
        raise InvalidParameter.of(
            "failure", f"failure is {chance}; it must be at least {RAREST:g} and below 1."
        )
    if isinstance(people, float) and people == math.inf:
        return Statement(chance, math.inf)
    return Statement(chance, checks.count("people", people, least=1))


def _is_single(x: Any) -> bool:
    """Whether x is one record and not a table of them."""
    if hasattr(x, "columns"):
        return False
    try:
        if hasattr(x, "keys"):
            return all(np.ndim(value) == 0 for value in x.values())
        return np.ndim(x) < 2
    except ValueError:
        raise InvalidParameter("the records are not all of the same length.") from None


def _count(x: Any) -> int:
    return len(x) if hasattr(x, "columns") or not hasattr(x, "keys") else len(next(iter(x.values())))
