"""The ledger: a durable, append-only, hash-chained record of what was charged and answered.

ledger = Ledger.open("people.ledger")                       # a file, made if it is not there
ledger = Ledger.open("postgresql://user@host/database")     # a PostgreSQL database
account = ledger.account("people", dp.ZCDP(0.5))
reply = account.ask(question, loss, compute)

"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

from dalenius.calculus.guarantees import Guarantee, filter_of
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, Adjacency
from dalenius.core.habits import absent, hinted
from dalenius.core.nearest import meant
from dalenius.errors import InvalidParameter, LedgerError
from dalenius.session.account import Account
from dalenius.session.chain import Chain, read_checkpoint
from dalenius.session.entries import Entry, digest, now, user_word
from dalenius.session.places import check_is_elsewhere, read_place
from dalenius.session.stores import PATIENCE, store_at
from dalenius.session.terms import (
    account_terms,
    check_share,
    check_terms,
    checked_name,
    checked_shares,
    listed,
    planned,
    proposed,
    read_terms,
    unit_text,
)
from dalenius.tables.facts.unit import Unit

if TYPE_CHECKING:
    from dalenius.session.log import Log
    from dalenius.session.statement import Statement
    from dalenius.session.verify import Verification

Shares = Mapping[str, "Fraction | int | float | str | Guarantee"]


_OPEN = "write account('people', dp.ZCDP(0.5), unit=dp.Unit.rows()), with ceiling= and renewals= for later"
_EACH = "that is of one account: ledger.existing('people')"
HINTS = {
    **dict.fromkeys(["add", "add_account", "create_account", "new_account", "open_account"], _OPEN),
    **dict.fromkeys(["balance", "raise_budget", "remaining", "renew", "spent"], _EACH),
}
"""What a steward may look for."""


class Ledger(Chain):
    """An open ledger. Threads may share it, forked children may keep it, and any number may be open at once.

    Parameters
    ----------
    store
        The database that holds it; `Ledger.open` makes one from a path or a URL.

    Examples
    --------
    >>> import tempfile, dalenius as dp
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.open(folder.name + "/people.ledger")
    >>> account = ledger.account("people", dp.ZCDP(0.5))
    >>> account.ask("how many?", dp.losses.gaussian(sigma=2.0), lambda: "[41]")
    Reply(answer='[41]', ticket=Ticket(seq=3, ...
    >>> account.ask("how many?", dp.losses.gaussian(sigma=2.0), lambda: "[43]").answer   # the record, free
    '[41]'
    >>> account.remaining
    ZCDP(rho=0.375)
    """

    if not TYPE_CHECKING:  # with it type checkers would take every name for one that is there

        def __getattr__(self, name: str) -> NoReturn:
            raise absent("a ledger", name, dir(type(self)), HINTS)

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str],
        *,
        create: bool = True,
        checkpoint: str | None = None,
        expect: str | None = None,
        patience: float = PATIENCE,
    ) -> Ledger:
        """The ledger at a path or a postgresql:// URL.

        Opening reads and checks every entry, once in a process; later only what was added is read.

        Parameters
        ----------
        where
            A path, or a postgresql:// URL.
        create
            Whether to make a ledger where there is none.
        checkpoint, expect
            A text that `checkpoint()` gave earlier, kept elsewhere (the two names mean the same). A ledger that does
            not contain it (an old copy put back, a tail cut off, a new ledger in the place of one that was removed) is
            refused, and none is made.
        patience
            How long, in seconds, to wait for others.

        Returns
        -------
        Ledger
            It is open; use it in a `with` block, or call `close`.

        Raises
        ------
        LedgerError
            If there is no ledger and none may be made, or it cannot be read.
        LedgerDamaged
            If it is not what was written, or lacks the checkpoint.
        """
        patience, create = checks.positive("patience", patience), checks.flag("create", create)
        wanted = [text for text in (checkpoint, expect) if text is not None]
        for text in wanted:
            read_checkpoint(text)
        ledger = cls(store_at(where, create and not wanted, patience))
        for text in wanted:
            ledger.require(text)
        return ledger

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self.store.label!r})"

    def _repr_html_(self) -> str:
        from dalenius.session.report import accounts_html

        return accounts_html(self)

    # -- accounts ---------------------------------------------------------------------------------

    @hinted(
        "the second argument: dp.ZCDP(0.5)",
        budget="what is promised, dp.ZCDP(0.5). An account that is there already is ledger.existing('people')",
    )
    def account(
        self,
        dataset: str,
        budget: Guarantee,
        analyst: str | None = None,
        *,
        shares: Shares | None = None,
        adjacency: Adjacency = ADD_REMOVE,
        unit: str | Unit = "row",
        reserve: float | str | Fraction | None = None,
        ceiling: Guarantee | None = None,
        renewals: int | None = None,
        place: Mapping[str, object] | None = None,
    ) -> Account:
        """The account of a dataset, opened with this budget if it is new.

        What the first call says holds for ever: a later one that names another budget, other neighbours, another unit,
        other shares, another ceiling or other renewals is refused.

        Parameters
        ----------
        dataset
            What the ledger calls the data.
        budget
            What is promised about everything that is ever released from it: PureDP, ApproxDP, ZCDP or GDP. With a
            ceiling or renewals, what may be spent at first; the promise is then that of all that may ever be opened.
        analyst
            Who spends.
        shares
            For each analyst a fraction of the budget (of epsilon, rho, mu^2, or mu^2 and delta; together at most 1), or
            a promise of the budget's kind (together, perhaps, more than there is: who asks first is answered). In an
            account with shares only those analysts may spend, each up to their share and all together up to the budget;
            without, anybody may, and `analyst` is a note.
        adjacency
            Whose neighbours the promise is about.
        unit
            Who is protected.
        reserve
            For ApproxDP, the part of epsilon set aside (`calculus.guarantees.approx`); left out, it is what the account
            has, and nothing in a new one.
        ceiling
            The largest budget that `Account.raise_budget` may raise it to: the budget itself, if left out.
        renewals
            How often `Account.renew` may open the budget once more: never, if left out. The promise of k renewals is
            that of k + 1 budgets.
        place
            Where the data is; kept with a new account, as `session.opening` checks it.

        Returns
        -------
        Account
            To ask, to charge, and to see what is left.

        Raises
        ------
        InvalidParameter
            If the account was opened with other terms.
        """
        checked_name("dataset", dataset)
        if not isinstance(unit, Unit):
            checked_name("unit", unit)
        if analyst is not None:
            checked_name("analyst", analyst)
        with self.reading() as rows:
            entry = rows.opening(dataset)
        if entry is None:
            _, body = proposed(
                dataset,
                budget,
                adjacency=adjacency,
                unit=unit,
                reserve=0 if reserve is None else reserve,
                shares=shares,
                ceiling=ceiling,
                renewals=renewals,
            )
            body = {**body, "time": now(), **user_word()}
            entry = self._opened(dataset, body if place is None else {**body, "place": place})
        account = read_account(self, entry, analyst)
        self._check_same(account, entry, budget, adjacency, unit, reserve, ceiling, renewals)
        own = account.own_filter(entry.content())
        parts = checked_shares(shares, own)
        if parts is not None and parts != account.shares:
            held = ", ".join(f"{listed([name])}: {part}" for name, part in account.shares.items())
            raise InvalidParameter(
                f"the account of {dataset!r} was opened with {held or 'no shares'}. Shares are fixed when an account "
                "is opened; leave them out, or name the same. A steward grants more by account.grant_share."
            )
        return account

    def _check_same(
        self,
        account: Account,
        entry: Entry,
        budget: Guarantee,
        adjacency: Adjacency,
        unit: str | Unit,
        reserve: float | str | Fraction | None,
        ceiling: Guarantee | None,
        renewals: int | None,
    ) -> None:
        """Refuse other terms than those of the opening; a budget may also be named as it was raised."""
        body = entry.content()
        first, highest, times = planned(body)
        held = {**body, **({} if body.get("plan") is None else {"promise": first.record()})}
        held["reserve"] = (body.get("plan") or body)["reserve"]
        asked = filter_of(budget, adjacency, 0 if reserve is None else reserve)
        if reserve is None:
            asked = asked.like({"kind": body["promise"]["kind"], "reserve": held["reserve"] or 0})
        if asked.promise == account.budget:
            held["promise"] = asked.promise.record()
        check_terms(held, account_terms(account.dataset, asked, unit))
        others = (("ceiling", ceiling, highest), ("renewals", renewals, times))
        for word, said, is_ in others:
            if said is not None and said != is_:
                raise InvalidParameter(
                    f"the account of {account.dataset!r} was opened with {word} {is_!r}, and now {checks.shown(said)} "
                    "was asked for. What an account promises is fixed when it is opened."
                )

    def _opened(self, dataset: str, body: Mapping[str, object]) -> Entry:
        with self.writing() as rows:
            known = rows.opening(dataset)  # somebody else may have been quicker
            if known is not None:
                return known
            if isinstance(place := body.get("place"), Mapping):
                # Here, where nobody else opens an account: two names of the same data must not both find the other
                # not there yet.
                for entry in rows.accounts():
                    other = read_account(self, entry, None)
                    check_is_elsewhere(read_place(place, dataset), dataset, other._place(rows), other.dataset)
            return self.append(rows, "account", 0, digest(dataset), body)

    def accounts(self) -> list[Account]:
        """All accounts, to look at.

        Returns
        -------
        list of Account
            In the order they were opened.
        """
        with self.reading() as rows:
            openings = rows.accounts()
        return [read_account(self, entry, None) for entry in openings]

    def existing(self, dataset: str, analyst: str | None = None) -> Account:
        """The account of a dataset, as it was opened.

        Parameters
        ----------
        dataset
            What the ledger calls the data.
        analyst
            Who spends.

        Returns
        -------
        Account
            To ask, to charge, and to see what is left.

        Raises
        ------
        LedgerError
            If there is none.
        """
        with self.reading() as rows:
            entry = rows.opening(checked_name("dataset", dataset))
        if entry is None:
            near = meant(dataset, [each.dataset for each in self.accounts()])
            hint = f"; did you mean {near!r}?" if near else "."
            raise LedgerError(
                f"there is no account for the dataset {dataset!r} in {self.store.label!r}{hint}"
            )
        return read_account(self, entry, analyst)

    # -- the chain --------------------------------------------------------------------------------

    def verify(self, checkpoint: str | None = None) -> Verification:
        """Everything, read and checked anew from the first entry.

        Parameters
        ----------
        checkpoint
            What `checkpoint()` gave earlier; the ledger must contain it.

        Returns
        -------
        Verification
            Whether it is sound (`ok`), and what is wrong (`problems`).
        """
        from dalenius.session.verify import verified

        return verified(self.store, checkpoint)

    @hinted(
        more="it gives lines, to write anywhere: Path('people.jsonl').write_text('\\n'.join(ledger.export()))"
    )
    def export(self, *, readable: bool = False) -> Iterator[str]:
        """The whole ledger as text.

        Parameters
        ----------
        readable
            For people and their programs: questions and answers as JSON objects, and each question in words. Else
            bodies are the texts that were hashed, and the copy can be checked without the ledger.

        Returns
        -------
        iterator of str
            Lines of JSON: a heading, the entries in order, and the checkpoint they end at.
        """
        from dalenius.session.report import exported

        return exported(self, checks.flag("readable", readable))

    def log(
        self,
        account: str | None = None,
        *,
        since: object = None,
        until: object = None,
        analyst: str | None = None,
    ) -> Log:
        """What was done, by whom and when: every question in words, what it cost, and what was left after it.

        Parameters
        ----------
        account
            The name of one account; all, if left out.
        since, until
            From and up to when, both included: "2026", "2026-03", "2026-03-05", a date, or a moment.
        analyst
            One who asked, by the name in the column `who`.

        Returns
        -------
        Log
            `print` it, or `to_pandas()`, `to_csv()`, `to_markdown()`, `to_dicts()`.

        Raises
        ------
        InvalidParameter
            If there is no such account, or a time is none.
        """
        from dalenius.session.log import read_log

        return read_log(self, account, since, until, analyst)

    def statement(
        self, year: int | None = None, account: str | None = None, *, title: str | None = None
    ) -> Statement:
        """A year on one page: what was promised, what was spent by whom on what, and what that means for a person.

        Parameters
        ----------
        year
            Of the entries' times, in UTC; this one, if left out.
        account
            The name of one account; all, if left out.
        title
            Of the page.

        Returns
        -------
        Statement
            `save("statement.html")`, `html`, or show it in a notebook. The page needs nothing else: no network.

        Raises
        ------
        InvalidParameter
            If there is no such account, or the year is none.
        """
        from dalenius.session.statement import statement

        return statement(self, year, account, title)

    def grant(self, role: str) -> None:
        """Let a PostgreSQL role spend and do nothing else. For the ledger's owner.

        Parameters
        ----------
        role
            The role's name.

        Raises
        ------
        InvalidParameter
            If the ledger is a file.
        """
        self.store.grant(checked_name("the role", role))


def read_account(ledger: Ledger, entry: Entry, analyst: str | None) -> Account:
    """The account an entry opened, for one analyst (None: to look at)."""
    body = entry.content()
    filter, _, shares = read_terms(body)
    account = Account(
        ledger, entry.seq, str(body["dataset"]), filter, shares, analyst, unit_text(body["unit"])
    )
    if analyst is not None:
        check_share(analyst, account.state().standing.shares, account.dataset)
    return account
