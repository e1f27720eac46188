"""Raising, renewing, sharing and closing: against a simple model, on both stores, racing, killed and forged."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import dalenius as dp
from dalenius import losses
from dalenius.calculus.guarantees import filter_of
from dalenius.errors import BudgetExceeded, InvalidParameter, LedgerDamaged, LedgerError
from dalenius.session.account import Account
from dalenius.session.entries import Entry
from dalenius.session.ledger import Ledger
from dalenius.session.opening import SessionAccount
from dalenius.session.verify import verify
from tests.session.golden_ledger import HERE
from tests.session.helpers import by_hand, is_postgres, rho

# -- a model: nothing but numbers, and none of the ledger's code --------------------------------------------


@dataclass
class Model:
    """What may be spent, told once more."""

    level: Fraction
    ceiling: Fraction
    renewals: int
    fractions: dict[str, Fraction]
    amounts: dict[str, Fraction]
    rounds: list[Fraction] = field(default_factory=list)
    granted: dict[str, Fraction] = field(default_factory=dict)
    spent: dict[str, Fraction] = field(default_factory=dict)
    closed: bool = False

    @property
    def gate(self) -> Fraction:
        return sum(self.rounds, Fraction(0)) + self.level

    @property
    def total(self) -> Fraction:
        return sum(self.spent.values(), Fraction(0))

    def allowed(self, who: str) -> Fraction | None:
        if not (self.fractions or self.amounts or self.granted):
            return self.gate
        if who not in {*self.fractions, *self.amounts, *self.granted}:
            return None
        rounds = len(self.rounds) + 1
        mine = self.fractions.get(who, Fraction(0)) * self.gate + self.amounts.get(who, Fraction(0)) * rounds
        return mine + self.granted.get(who, Fraction(0))

    def charge(self, who: str, cost: Fraction) -> bool:
        allowed = self.allowed(who)
        mine = self.spent.get(who, Fraction(0)) + cost
        if self.closed or allowed is None or self.total + cost > self.gate or mine > allowed:
            return False
        self.spent[who] = mine
        return True

    def raise_to(self, level: Fraction) -> bool:
        if self.closed or not self.level < level <= self.ceiling:
            return False
        self.level = level
        return True

    def renew(self) -> bool:
        if self.closed or len(self.rounds) >= self.renewals:
            return False
        self.rounds.append(self.level)
        return True

    def grant(self, who: str, share: Fraction) -> bool:
        if self.closed or share > self.gate - self.total:
            return False
        self.granted[who] = self.granted.get(who, Fraction(0)) + share
        return True


def z(amount: Fraction) -> dp.ZCDP:
    return dp.ZCDP(float(amount))


def done(action: Callable[[], object]) -> bool:
    """Whether it was allowed."""
    try:
        action()
    except (BudgetExceeded, InvalidParameter):
        return False
    return True


NAMES = ("ana", "ben", "eve")


@pytest.mark.parametrize("seed", range(4))
def test_random_lives_of_an_account(place: str, seed: int) -> None:
    """Open, charge, raise, renew, share, close in any order: allowed and refused as in the model, and sound."""
    chance = random.Random(seed)
    tenth = Fraction(1, 10)
    level = chance.randint(3, 6) * tenth
    ceiling = level + chance.randint(0, 5) * tenth
    renewals = chance.randint(0, 3)
    fractions = {"ana": Fraction(1, 2)} if seed % 2 else {}
    amounts = {"ben": level / 2} if seed % 4 > 1 else {}
    model = Model(level, ceiling, renewals, fractions, amounts)
    shares: dict[str, Any] = {
        **{k: str(v) for k, v in fractions.items()},
        **{k: z(v) for k, v in amounts.items()},
    }
    ledger = Ledger.open(place)

    def account(who: str | None = None) -> Account:
        more = {"shares": shares} if shares else {}
        return ledger.account("people", z(level), who, ceiling=z(ceiling), renewals=renewals, **more)

    steward = account()
    assert steward.promise == dp.ZCDP(float(ceiling * (renewals + 1)))
    allowed = 0
    for step in range(45):
        act = chance.choices(("charge", "raise", "renew", "grant", "close"), (30, 4, 3, 4, step > 25))[0]
        who = chance.choice(NAMES)
        size = chance.randint(1, 30) * Fraction(1, 100)
        if act == "charge":
            found = done(lambda w=who, s=size, n=step: account(w).charge(f"q{n}", rho(str(s))))  # type: ignore[misc]
            expected = model.charge(who, size)
            allowed += found
        elif act == "raise":
            new = chance.randint(1, 11) * tenth
            found = done(lambda n=new: steward.raise_budget(z(n)))  # type: ignore[misc]
            expected = model.raise_to(new)
        elif act == "renew":
            found, expected = done(steward.renew), model.renew()
        elif act == "grant":
            found = done(lambda w=who, s=size: steward.grant_share(w, z(s)))  # type: ignore[misc]
            expected = model.grant(who, size)
        else:
            found, expected = done(steward.close_for_ever), not model.closed
            model.closed = True
        assert found == expected, (step, act, who, size)
        state = steward.state()
        assert state.limit.amount == model.gate
        assert state.balance.total.amount == model.total
        assert steward.left().amount == (0 if model.closed else model.gate - model.total)
        assert model.total <= model.gate <= ceiling * (renewals + 1)
    assert allowed > 0
    check = verify(place, ledger.checkpoint())
    assert check.ok, check.problems
    lines = ledger.log("people")
    assert lines[-1].left == steward.left()
    # And somebody who knows nothing reads the same.
    ledger.close()
    again = Ledger.open(place, create=False).existing("people")
    assert (again.limit.amount, again.balance().total.amount) == (model.gate, model.total)


# -- the promise ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "ceiling", "renewals"),
    [
        (dp.PureDP(0.1), dp.PureDP(0.3), 2),
        (dp.ZCDP(0.1), None, 3),
        (dp.GDP(0.6), dp.GDP(0.8), 1),
        (dp.ApproxDP(0.5, 1e-7), dp.ApproxDP(1.0, 1e-6), 2),
    ],
    ids=repr,
)
def test_what_is_promised_is_what_may_ever_be_spent(
    tmp_path: Path, budget: dp.Guarantee, ceiling: dp.Guarantee | None, renewals: int
) -> None:
    """Spent to the last grain after all raises and renewals, all of it together keeps the promise of the first day."""
    ledger = Ledger.open(tmp_path / "x.ledger")
    account = ledger.account("people", budget, ceiling=ceiling, renewals=renewals)
    promise = account.promise
    spent = account.filter.nothing
    for number in range(renewals + 1):
        left = account.left()
        assert left.amount == filter_of(budget).limit.amount if number == 0 else True
        account.charge(f"q{number}", left)
        if number == 0 and ceiling is not None:
            account.raise_budget(ceiling)
            account.charge("raised", account.left())
        if number < renewals:
            account.renew()
    spent = account.balance().total
    highest = filter_of(ceiling or budget).limit
    assert spent == highest * (renewals + 1) == account.limit
    assert account.promise == promise == ledger.existing("people").promise
    # By the calculus, not by the ledger: a release of all that was spent keeps the promise.
    adjacency = dp.ADD_REMOVE
    if isinstance(promise, dp.ApproxDP):
        loss = losses.gaussian(float(spent.amount) ** -0.5 * (1 + 1e-9)) + losses.approx(
            0.0, float(spent.delta)
        )
        assert promise.holds(loss)
        assert promise.delta == pytest.approx(1e-6 * 3)
    else:
        size = {"pure": losses.pure, "zcdp": losses.zcdp, "gdp": losses.gdp}[promise.tag]
        amount = float(spent.amount) ** (0.5 if promise.tag == "gdp" else 1)
        assert promise.holds(size(amount * (1 - 1e-12), adjacency))
    assert verify(tmp_path / "x.ledger").ok


def test_a_reserve_is_renewed_too(place: str) -> None:
    ledger = Ledger.open(place)
    account = ledger.account("people", dp.ApproxDP(2.0, 1e-6), reserve=0.5, renewals=1)
    assert (account.left().shift, account.filter.limit.shift) == (Fraction(1, 2), 1)
    account.renew()
    assert account.left().shift == 1
    assert ledger.account("people", dp.ApproxDP(2.0, 1e-6), reserve=0.5).seq == account.seq
    with pytest.raises(InvalidParameter, match=r"a reserve of 0\.5"):
        ledger.account("people", dp.ApproxDP(2.0, 1e-6), reserve=0.25)
    assert verify(place).ok


def test_by_default_nothing_is_ever_opened(place: str) -> None:
    account = Ledger.open(place).account("people", dp.ZCDP(0.5))
    before = account.ledger.checkpoint()
    with pytest.raises(InvalidParameter, match="may be raised to ZCDP"):
        account.raise_budget(dp.ZCDP(0.6))
    with pytest.raises(InvalidParameter, match=r"may not be renewed, .* No theorem resets a person"):
        account.renew()
    assert account.ledger.checkpoint() == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"ceiling": dp.ZCDP(0.4)},
        {"ceiling": dp.PureDP(1.0)},
        {"ceiling": 1.0},
        {"renewals": -1},
        {"renewals": 1.5},
        {"renewals": True},
        {"renewals": 10**6},
        {"shares": {"ana": dp.ZCDP(0.6)}},
        {"shares": {"ana": dp.PureDP(0.1)}},
        {"shares": {"ana": dp.ZCDP(0.1), "ben": 1.1}},
    ],
    ids=str,
)
def test_plans_that_are_none(tmp_path: Path, wrong: dict[str, Any]) -> None:
    ledger = Ledger.open(tmp_path / "x.ledger")
    with pytest.raises(InvalidParameter):
        ledger.account("people", dp.ZCDP(0.5), **wrong)
    assert ledger.accounts() == []


def test_what_an_account_settled_it_is_opened_with_again(place: str) -> None:
    ledger = Ledger.open(place)
    account = ledger.account("people", dp.ZCDP(0.5), ceiling=dp.ZCDP(1.0), renewals=2)
    account.raise_budget(dp.ZCDP(0.75))
    for same in ({}, {"ceiling": dp.ZCDP(1.0)}, {"renewals": 2}):
        assert ledger.account("people", dp.ZCDP(0.5), **same).seq == account.seq  # type: ignore[arg-type]
    assert ledger.account("people", dp.ZCDP(0.75)).seq == account.seq  # as it was raised
    others: list[tuple[float, dict[str, Any]]] = [
        (1.0, {}),
        (0.5, {"ceiling": dp.ZCDP(2.0)}),
        (0.5, {"renewals": 3}),
        (0.5, {"renewals": 0}),
    ]
    for budget, other in others:
        with pytest.raises(InvalidParameter, match="fixed when it is opened"):
            ledger.account("people", dp.ZCDP(budget), **other)
    assert repr(account) == "Account('people', ZCDP(rho=3.0))"


# -- closing ---------------------------------------------------------------------------------------------------


def test_a_closed_account_answers_from_the_record_and_from_nothing_else(place: str) -> None:
    account = Ledger.open(place).account("people", dp.ZCDP(1.0), renewals=1)
    account.ask("how many?", rho("0.25"), lambda: "[41]")
    waiting = account.charge("under way", rho("0.25"))
    account.close_for_ever(note="the survey has ended")
    account.record(waiting, "[7]")  # it was charged before
    assert account.ask("how many?", rho("0.25"), lambda: pytest.fail("touched")).answer == "[41]"
    assert account.recorded("under way") == "[7]"
    before = account.ledger.checkpoint()
    for more in (
        lambda: account.ask("more", rho("0.1"), lambda: pytest.fail("touched")),
        lambda: account.charge("for nothing", rho("0")),
        lambda: account.keep("kept", "1"),
    ):
        with pytest.raises(BudgetExceeded, match="was closed: nothing more is charged to it, ever"):
            more()
    for act in (account.renew, account.close_for_ever, lambda: account.grant_share("ana", dp.ZCDP(0.1))):
        with pytest.raises(InvalidParameter, match="was closed, for ever"):
            act()
    assert account.ledger.checkpoint() == before
    assert (account.is_closed, account.remaining, account.spent) == (True, dp.ZCDP(0.0), dp.ZCDP(0.5))
    assert verify(place).ok


def test_a_session_on_a_closed_account(tmp_path: Path) -> None:
    people = pd.DataFrame({"age": [20, 30, 40] * 100})
    people.to_csv(tmp_path / "people.csv", index=False)

    def session(data: Path, **more: Any) -> dp.Session:
        return dp.Session(data, unit=dp.Unit.rows(), budget=dp.ZCDP(0.5), ledger=tmp_path / "l", **more)

    s = session(tmp_path / "people.csv", renewals=1)
    with pytest.raises(InvalidParameter, match="its first question opens it"):
        s.account.renew()
    first = s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.1))
    assert s.account.promise == dp.ZCDP(1.0)
    s.account.close_for_ever()
    assert s.remaining == dp.ZCDP(0.0)
    (tmp_path / "moved").mkdir()
    (tmp_path / "people.csv").rename(tmp_path / "moved" / "people.csv")
    moved = session(tmp_path / "moved" / "people.csv", moved=True)
    again = moved.release(moved.table.agg(n=dp.count()), dp.ZCDP(0.1))
    assert again.free
    assert again.to_dict() == first.to_dict()
    with pytest.raises(BudgetExceeded, match="was closed"):
        moved.release(moved.table.agg(m=dp.count()), dp.ZCDP(0.1))
    assert verify(tmp_path / "l").ok


# -- shares ----------------------------------------------------------------------------------------------------


def test_a_fit_that_was_paid_stays_free_after_a_raise_and_a_renewal(tmp_path: Path) -> None:
    """The promise that a budget pays for is found from what the account was opened with, which no act moves."""
    people = pd.DataFrame({"x": range(100), "y": [n % 7 for n in range(100)]})
    s = dp.Session(
        people,
        unit=dp.Unit.rows(),
        budget=dp.ApproxDP(4, 1e-6),
        ceiling=dp.ApproxDP(8, 1e-6),
        renewals=2,
        reserve=1.0,
        ledger=tmp_path / "l.ledger",
        name="people",
        schema=dp.Schema(nulls="drop"),
    )

    def fitted() -> Any:
        model = dp.learn.AdaptivePosteriorSampleRegression
        s.fit(model, {"x": (0, 100)}, {"y": (0, 7)}, budget=dp.ApproxDP(0.3, 1e-6))
        return s.account.balance().total

    spent = fitted()
    assert spent.shift > 0  # where the room for one fit is a part of what is set aside
    s.account.raise_budget(dp.ApproxDP(6, 1e-6))
    assert fitted() == spent
    s.account.renew()
    assert fitted() == spent


SHARES: Any = {"ana": "1/4", "ben": "1/4", "eve": "1/2"}


def shared(
    folder: Path, analyst: str | None, budget: dp.Guarantee, shares: Any = SHARES, **more: Any
) -> dp.Session:
    people = pd.DataFrame({"x": range(100), "y": [n % 2 for n in range(100)]})
    return dp.Session(
        people,
        unit=dp.Unit.rows(),
        budget=budget,
        shares=shares,
        analyst=analyst,
        ledger=folder / "l.ledger",
        name="people",
        schema=dp.Schema(nulls="drop"),
        **more,
    )


LOGISTIC = dp.learn.LogisticRegression
POSTERIOR = dp.learn.PosteriorSampleRegression


def fit_by_class(s: dp.Session, model: Any, budget: dp.Guarantee) -> Any:
    """What is spent after it."""
    s.fit(model, {"x": (0, 100)}, "y" if model is LOGISTIC else {"y": (0, 1)}, budget=budget)
    return s.account.balance().total


def reader(whole: dp.Session, analyst: str) -> dp.Session:
    """As the console makes a session for somebody who has no share."""
    account: Any = whole.account
    terms = replace(account.terms, analyst=analyst, reading=True)
    return whole._asking(SessionAccount(account.where, terms))


@pytest.mark.parametrize("reserve", [None, 1.0])
def test_a_fit_that_was_paid_stays_free_after_a_grant(tmp_path: Path, reserve: float | None) -> None:
    """To who paid, and to others with such a share; for other shares a promise that some delta pays is another where
    its four digits show it: with a reserve."""

    def spent(analyst: str, model: Any, price: dp.Guarantee) -> Any:
        return fit_by_class(shared(tmp_path, analyst, dp.ApproxDP(4, 1e-5), reserve=reserve), model, price)

    small = dp.ApproxDP(0.3, 1e-6)
    paid = spent("ana", POSTERIOR, small)
    steward = shared(tmp_path, None, dp.ApproxDP(4, 1e-5), reserve=reserve).account
    steward.grant_share("ana", dp.ApproxDP(0.5, 1e-6))
    assert spent("ana", POSTERIOR, small) == paid
    assert spent("ben", POSTERIOR, small) == paid
    assert (spent("eve", POSTERIOR, small).amount > paid.amount) == (reserve is not None)
    both = spent("ana", LOGISTIC, small)
    assert spent("eve", LOGISTIC, small) == both


def test_a_budget_is_split_as_a_share_was_at_first(tmp_path: Path) -> None:
    """As the account was opened, or as it was granted first to who had none then."""
    budget, more = dp.ZCDP(0.8), {"split_evenly_over": 2}
    assert shared(tmp_path, "ana", budget, **more).per_question == dp.ZCDP(0.1)
    s = shared(tmp_path, "ana", budget)
    s.release(s.table.agg(n=dp.count()), dp.ZCDP(0.01))
    for share in (0.2, 0.1):
        s.account.grant_share("ana", dp.ZCDP(share))
        s.account.grant_share("dan", dp.ZCDP(share))
        assert shared(tmp_path, "ana", budget, **more).per_question == dp.ZCDP(0.1)
        assert shared(tmp_path, "dan", budget, **more).per_question == dp.ZCDP(0.1)


def test_a_first_share_for_one_moves_nothing_for_others(tmp_path: Path) -> None:
    """From then on only that one pays; who asked before finds what they asked."""
    more = {"shares": None, "split_evenly_over": 2}
    s = shared(tmp_path, "ana", dp.ZCDP(0.8), **more)
    s.release(s.table.agg(n=dp.count()))
    s.account.grant_share("ben", dp.ZCDP(0.2))
    found = s.account.state().first_allowance("ana")
    assert found.amount == Fraction("0.8")
    assert s.account.state().first_allowance("ben").amount == Fraction("0.2")


@pytest.mark.parametrize(
    ("budget", "price"), [(dp.ZCDP(1), dp.ZCDP(0.05)), (dp.ApproxDP(4, 1e-5), dp.GDP(0.2))]
)
def test_who_has_no_share_reads_the_fit_of_another(
    tmp_path: Path, budget: dp.Guarantee, price: dp.Guarantee
) -> None:
    spent = fit_by_class(shared(tmp_path, "ana", budget), LOGISTIC, price)
    dan = reader(shared(tmp_path, None, budget), "dan")
    assert fit_by_class(dan, LOGISTIC, price) == spent
    with pytest.raises(BudgetExceeded, match="'dan' has no share"):
        fit_by_class(dan, LOGISTIC, price.divided(2))


def test_a_fit_whose_promise_depends_on_a_share_is_read_by_its_promise(tmp_path: Path) -> None:
    budget, columns = dp.ApproxDP(4, 1e-5), ({"x": (0, 100)}, {"y": (0, 1)})
    paid = shared(tmp_path, "ana", budget).fit(POSTERIOR, *columns, budget=dp.ApproxDP(0.3, 1e-6))[-1]
    dan = reader(shared(tmp_path, None, budget), "dan")
    with pytest.raises((InvalidParameter, BudgetExceeded), match="'dan' has no share"):
        fit_by_class(dan, POSTERIOR, dp.ApproxDP(0.3, 1e-6))
    again = dan.fit(POSTERIOR(paid.guarantee), *columns)[-1]
    assert (again.coef_ == paid.coef_).all()


def test_promises_as_shares(place: str) -> None:
    """Each is held by their own share and by the whole, which the shares may exceed together."""
    ledger = Ledger.open(place)
    shares = {"ana": dp.ZCDP(0.4), "ben": dp.ZCDP(0.4)}
    ana = ledger.account("people", dp.ZCDP(0.5), "ana", shares=shares)
    ben = ledger.account("people", dp.ZCDP(0.5), "ben", shares=shares)
    assert (ana.remaining, ben.remaining) == (dp.ZCDP(0.4), dp.ZCDP(0.4))
    ana.charge("a", rho("0.3"))
    assert ben.remaining == dp.ZCDP(0.2)  # of the whole
    with pytest.raises(BudgetExceeded):
        ben.charge("b", rho("0.3"))
    ben.charge("b", rho("0.2"))
    with pytest.raises(InvalidParameter, match="'eve' has no share"):
        ledger.account("people", dp.ZCDP(0.5), "eve")
    assert ana.promise == dp.ZCDP(0.5)  # all of them together, whatever they tell each other
    assert verify(place).ok


def test_gdp_shares_add_in_squares(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "x.ledger")
    shares = {"ana": dp.GDP(0.6), "ben": dp.GDP(0.8)}
    for name in shares:
        account = ledger.account("people", dp.GDP(1.0), name, shares=shares)
        account.charge(name, account.left())
    assert ledger.existing("people").left().amount == 0


def test_granted_shares(place: str) -> None:
    ledger = Ledger.open(place)
    steward = ledger.account("people", dp.ZCDP(0.5))
    steward.charge("before there were shares", rho("0.1"))
    assert steward.grant_share("ana", dp.ZCDP(0.3)) == dp.ZCDP(0.3)
    ana = ledger.account("people", dp.ZCDP(0.5), "ana")
    ana.charge("a", rho("0.3"))
    with pytest.raises(BudgetExceeded, match="of the share of 'ana'"):
        ana.charge("b", rho("0.05"))
    with pytest.raises(InvalidParameter, match="shared by ana"):
        steward.charge("nameless", rho("0.05"))
    with pytest.raises(InvalidParameter, match=r"ZCDP\(rho=0.1\) is left"):
        steward.grant_share("ben", dp.ZCDP(0.2))
    steward.grant_share("ana", dp.ZCDP(0.1))
    ana.charge("b", rho("0.1"))
    assert verify(place).ok


# -- at the same time ------------------------------------------------------------------------------------------


def test_raises_and_charges_at_once(place: str) -> None:
    """A steward opens more while three analysts spend all there is: never more than was open, and in the end all."""
    first = Ledger.open(place).account("people", dp.ZCDP(0.1), ceiling=dp.ZCDP(0.4), renewals=1)
    stop = threading.Event()
    problems: list[BaseException] = []

    def spend(name: str) -> None:
        try:
            account = Ledger.open(place).account("people", dp.ZCDP(0.1), name)
            number = 0
            while True:
                over = stop.is_set()
                try:
                    account.charge(f"{name} {number}", rho("0.05"))
                    number += 1
                except BudgetExceeded:
                    if over:
                        return
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=spend, args=(name,)) for name in NAMES]
    for thread in threads:
        thread.start()
    for level in (0.2, 0.3, 0.4):
        first.raise_budget(dp.ZCDP(level))
    first.renew()
    stop.set()
    for thread in threads:
        thread.join(timeout=60)
    assert problems == []
    assert first.spent == dp.ZCDP(0.8) == first.promise
    found = verify(place)  # which holds each charge against what was open then
    assert found.ok, found.problems


def test_only_one_of_two_renewals_at_once(place: str) -> None:
    accounts = [Ledger.open(place).account("people", dp.ZCDP(0.1), renewals=1) for _ in range(4)]
    start = threading.Barrier(4)
    results: list[bool] = []

    def renew(account: Account) -> None:
        start.wait()
        results.append(done(account.renew))

    threads = [threading.Thread(target=renew, args=(account,)) for account in accounts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False, False, False, True]
    assert accounts[0].limit == rho("0.2")
    assert verify(place).ok


def test_another_process_that_closes_is_seen_by_a_charge(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed between the first look and the lock: the charge sees it under the lock."""
    account = Ledger.open(place).account("people", dp.ZCDP(1.0))
    other = Ledger.open(place).account("people", dp.ZCDP(1.0))
    fitting, looks = account._fitting, []

    def slow(*given: Any) -> Any:
        found = fitting(*given)
        looks.append(found)
        if len(looks) == 1:
            other.close_for_ever()
        return found

    monkeypatch.setattr(account, "_fitting", slow)
    with pytest.raises(BudgetExceeded, match="was closed"):
        account.charge("q", rho("0.1"))
    assert (len(looks), verify(place).charges) == (1, 0)


def test_killed_at_any_line(place: str) -> None:
    """A raise is whole or was not made; what is open is what the chain says, and nothing is in the way of the next."""
    from tests.session.test_failures import run

    account = Ledger.open(place).account("people", dp.ZCDP(1.0), ceiling=dp.ZCDP(1000.0))
    killed = run("killed", place, "60", "raise")
    assert killed.returncode == 0, killed.stderr
    children = [json.loads(line) for line in killed.stdout.splitlines()]
    assert sum(child["killed"] for child in children) > 12
    made = sum(line.act == "raised" for line in account.ledger.log())
    told = sum("delivered" in child["told"] for child in children) + 2  # two that went unharmed before
    assert told <= made < len(children) + 2
    assert made > told  # some died after it was durable
    assert account.limit.amount == 1 + made
    found = verify(place)
    assert found.ok, found.problems


# -- what is forged ---------------------------------------------------------------------------------------------

ACTS: dict[str, dict[str, Any]] = {
    "above the ceiling": {
        "act": "raise",
        "budget": {"kind": "zcdp", "rho": "9.0"},
        "level": "9",
        "limit": "9",
    },
    "another gate": {
        "act": "raise",
        "budget": {"kind": "zcdp", "rho": "0.6"},
        "level": "0.6",
        "limit": "0.9",
    },
    "lowered": {"act": "raise", "budget": {"kind": "zcdp", "rho": "0.1"}, "level": "0.1", "limit": "0.1"},
    "renewed too often": {"act": "renew", "renewal": 2, "limit": "1.5"},
    "a renewal is skipped": {"act": "renew", "renewal": 2, "limit": "1"},
    "renewed to another gate": {"act": "renew", "renewal": 1, "limit": "2"},
    "more than is left": {"act": "share", "analyst": "eve", "share": "9"},
    "unknown": {"act": "gift", "limit": "9"},
    "nothing": {},
}


def as_written(act: dict[str, Any]) -> dict[str, Any]:
    cost = {word: {"amount": act[word], "delta": "0"} for word in ("level", "limit") if word in act}
    share = {"share": {"promise": {"kind": "zcdp", "rho": "9.0"}, "limit": {"amount": "9", "delta": "0"}}}
    return {**act, **cost, **(share if "share" in act else {}), "time": "2026-01-01T00:00:00+00:00"}


@pytest.mark.parametrize("name", ACTS)
def test_acts_that_were_not_allowed_are_found(place: str, name: str) -> None:
    """Written past all checks, with right hashes: verify says so, whoever opens it refuses; and a server takes none."""
    ledger = Ledger.open(place)
    account = ledger.account("people", dp.ZCDP(0.5), ceiling=dp.ZCDP(0.75), renewals=1)
    account.charge("q", rho("0.1"))
    if name == "renewed too often":
        account.renew()
    seq, _, previous = ledger.checkpoint().partition(":")
    entry = Entry.after(int(seq), previous, "steward", account.seq, "", as_written(ACTS[name]))
    if is_postgres(place):
        with pytest.raises(LedgerError), ledger.writing() as rows:
            rows.add(entry)
        return
    body = entry.body.replace("'", "''").replace("{", "{{").replace("}", "}}")
    values = f"{entry.seq}, 'steward', {entry.account}, '', '{body}', '{entry.previous}', '{entry.hash}'"
    ledger.close()
    by_hand(place, f"INSERT INTO {{entries}} VALUES ({values})")
    found = verify(place)
    assert not found.ok
    assert f"entry {entry.seq}" in found.problems[0]
    with pytest.raises(LedgerDamaged):
        Ledger.open(place)


def test_charges_that_were_not_allowed_then_are_found(tmp_path: Path) -> None:
    """A charge that came before the raise that would have allowed it; one that came after the end."""
    places = {name: str(tmp_path / name) for name in ("early", "late")}
    for name, place in places.items():
        account = Ledger.open(place).account("people", dp.ZCDP(0.5), ceiling=dp.ZCDP(1.0))
        if name == "late":
            account.close_for_ever()
        seq, _, previous = account.ledger.checkpoint().partition(":")
        cost = {"amount": "0.75" if name == "early" else "0.25", "delta": "0"}
        question = {
            "analyst": None,
            "question": "q",
            "cost": cost,
            "spent": cost,
            "by": {"": cost},
            "time": "",
        }
        from dalenius.session.entries import digest

        entry = Entry.after(int(seq), previous, "charge", account.seq, digest("q"), question)
        account.ledger.close()
        body = entry.body.replace("{", "{{").replace("}", "}}")
        by_hand(
            place,
            f"INSERT INTO {{entries}} VALUES ({entry.seq}, 'charge', {entry.account}, '{entry.key}', '{body}', "
            f"'{entry.previous}', '{entry.hash}')",
        )
    assert any(
        "overspend the budget that was open then" in problem for problem in verify(places["early"]).problems
    )
    assert any("the account was closed before" in problem for problem in verify(places["late"]).problems)
    for place in places.values():
        with pytest.raises(LedgerDamaged):
            Ledger.open(place)


def test_a_checkpoint_sees_that_a_closing_was_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    account = Ledger.open(path).account("people", dp.ZCDP(0.5))
    old = path.read_bytes()
    account.close_for_ever()
    checkpoint = account.ledger.checkpoint()
    account.ledger.close()
    del account
    path.write_bytes(old)
    assert not verify(path, checkpoint).ok
    with pytest.raises(LedgerDamaged):
        Ledger.open(path, checkpoint=checkpoint)


# -- ledgers of other days ---------------------------------------------------------------------------------------


def test_an_account_of_a_ledger_from_before_is_closed(tmp_path: Path) -> None:
    path = shutil.copy(HERE / "v2.ledger", tmp_path / "copy.ledger")
    with Ledger.open(path) as ledger:
        checkpoint = ledger.checkpoint()
        account = ledger.existing("by hand", "ana")
        account.close_for_ever()
        ledger.existing("gdp").grant_share("ana", dp.GDP(0.1))
        assert account.recorded("how many?") == "[41]"
        with pytest.raises(BudgetExceeded):
            account.charge("q", rho("0.01"))
    found = verify(path, checkpoint)
    assert found.ok, found.problems


def test_a_server_from_before_learns_it(postgres_place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and functions as they were made before stewards: what is charged stays charged, spenders stay spenders."""
    import psycopg

    from dalenius.session.entries import SCHEMA, START

    old = (HERE / "guards-v2.sql").read_text().replace("{version}", str(SCHEMA)).replace("{start}", START)
    monkeypatch.setattr("dalenius.session.postgres.TABLES", old)
    monkeypatch.setattr("dalenius.session.postgres.LATEST", "pg_catalog.now()")  # an account opened then
    account = Ledger.open(postgres_place).account("people", dp.ZCDP(0.5))
    account.charge("q", rho("0.1"))
    monkeypatch.undo()
    name = postgres_place.rsplit("/", 1)[1]
    with psycopg.connect(postgres_place, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {name}_spender".encode())
        connection.execute(f"CREATE ROLE {name}_spender LOGIN PASSWORD 'secret'".encode())
    account.ledger.grant(f"{name}_spender")
    spender = f"postgresql://{name}_spender:secret@{postgres_place.split('@')[1]}"
    theirs = Ledger.open(spender).account("people", dp.ZCDP(0.5))
    theirs.charge("r", rho("0.1"))
    with pytest.raises(LedgerError):  # not by those who spend
        theirs.close_for_ever()
    account.grant_share("ana", dp.ZCDP(0.2))
    ana = Ledger.open(spender).account("people", dp.ZCDP(0.5), "ana")
    ana.charge("s", rho("0.2"))
    for act in (lambda: ana.grant_share("ana", dp.ZCDP(0.1)), ana.close_for_ever):
        with pytest.raises(LedgerError, match="owner of the ledger"):
            act()
    account.close_for_ever()
    with pytest.raises(BudgetExceeded, match="was closed"):
        ana.charge("t", rho("0"))
    assert ana.spent == dp.ZCDP(0.4)
    found = verify(postgres_place)
    assert found.ok, found.problems


# -- told --------------------------------------------------------------------------------------------------------


def test_the_log_tells_of_it(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "x.ledger")
    account = ledger.account("people", dp.ZCDP(0.5), ceiling=dp.ZCDP(1.0), renewals=2)
    account.raise_budget(dp.ZCDP(0.75), note="a second survey")
    account.renew()
    account.grant_share("ana", dp.ZCDP(0.25))
    account.close_for_ever()
    assert [(line.act, line.what, line.cells()[5]) for line in ledger.log()] == [
        (
            "opened",
            "account opened: rho 0.5, may be raised to rho 1, may be renewed 2 times; promised in all: rho 3",
            "rho 0.5",
        ),
        ("raised", "budget raised to rho 0.75 (a second survey)", "rho 0.75"),
        ("renewed", "budget renewed, for the 1st time", "rho 1.5"),
        ("shared", "rho 0.25 granted to ana", "rho 1.5"),
        ("closed", "account closed for ever", "rho 0"),
    ]
    lines = [json.loads(line) for line in ledger.export(readable=True)]
    assert [line["act"] for line in lines if line.get("kind") == "steward"] == [
        "raise",
        "renew",
        "share",
        "close",
    ]
