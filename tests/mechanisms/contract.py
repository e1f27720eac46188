"""What every mechanism must obey: inherit `MechanismContract`, list the cases and fill in the hooks.

    class TestLaplace(MechanismContract):
        cases = (Case("scale 2", lambda change: Laplace(sensitivity=1, scale=2.0 * change), scale=2.0),)
        promises = (dp.PureDP(1.0), dp.GDP(0.5))

        def calibrated(self, promise): return Laplace.calibrated(promise, sensitivity=1.5)
        def changed(self, mechanism, factor): return replace(mechanism, scale=mechanism.scale * factor)
        def cdf(self, case, x): ...                 # the law of the noise, from a textbook
        def profile(self, case, epsilon): ...       # delta by quadrature or enumeration, no shared code

`Case.build(change)` makes the mechanism with its noise multiplied by `change`; 1 is the true one. A part that
a mechanism does not have (no accuracy statement, say) is switched off by the class attribute that feeds it.

False alarms. Every comparison with draws is made at level FALSE_ALARM = 1e-10 or below over the choice of the
seed (Dvoretzky-Kiefer-Wolfowitz with Massart's constant for distributions, Clopper-Pearson for frequencies);
with fewer than 1000 of them the suite fails a correct mechanism with probability below 1e-7. The seeds
are fixed, so it fails always or never. Each comparison is paired with a planted error that it must reject.
"""

from __future__ import annotations

import math
import pickle
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError, fields
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import beta

from dalenius.calculus.guarantees import Guarantee
from dalenius.errors import InvalidParameter
from dalenius.mechanisms.mechanism import Mechanism
from tests.noise.seeded import seeded

FALSE_ALARM = 1e-10
DRAWS = 60_000

NUMBERS_OUT_OF_RANGE: tuple[Any, ...] = (0, 0.0, -1.0, math.nan, math.inf, -math.inf, "1", None, True, 1j)
"""What a scale or a sensitivity must never be."""


class Case:
    """One setting of a mechanism's parameters."""

    def __init__(self, label: str, build: Callable[[float], Any], **facts: Any) -> None:
        self.label, self.build, self.facts = label, build, facts

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["facts"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def mechanism(self) -> Any:
        return self.build(1.0)


@contextmanager
def bits(*label: object) -> Iterator[None]:
    """Seeded bits, the seed made from a label: every test has its own, always the same."""
    with seeded(zlib.crc32(repr(label).encode())):
        yield


def follows(draws: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Whether draws are consistent with a distribution function, continuous or not (DKW at FALSE_ALARM)."""
    values, counts = np.unique(draws, return_counts=True)
    found = np.cumsum(counts) / len(draws)
    # At the draws and just before them: elsewhere the empirical distribution is flat, F between its ends.
    step = np.spacing(np.abs(values)) + 1e-300
    apart = max(
        float(np.max(np.abs(found - cdf(values)))),
        float(np.max(np.abs(np.concatenate(([0.0], found[:-1])) - cdf(values - step)))),
    )
    return apart <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * len(draws)))


def frequency(hits: int, trials: int) -> tuple[float, float]:
    """Clopper-Pearson bounds, each of its two ends at FALSE_ALARM."""
    low = beta.ppf(FALSE_ALARM, hits, trials - hits + 1) if hits else 0.0
    high = beta.isf(FALSE_ALARM, hits + 1, trials - hits) if hits < trials else 1.0
    return float(low), float(high)


class MechanismContract:
    """Inherited by one class per mechanism; nothing here knows how a mechanism works."""

    cases: ClassVar[tuple[Case, ...]] = ()

    inputs: ClassVar[tuple[Any, ...]] = (41, 41.5, [1, 2, 3], np.arange(6.0).reshape(2, 3))
    """Inputs whose release has the same shape (a scalar for a scalar); empty: tested elsewhere."""
    scalar: ClassVar[type] = float
    """The type released for a scalar."""
    dtype: ClassVar[Any] = np.float64
    """The type of the array released for an array."""
    promises: ClassVar[tuple[Guarantee, ...]] = ()
    """Promises to calibrate for."""
    less: ClassVar[float] = 0.99
    """The factor on the noise at which a calibrated promise must be broken."""
    confidences: ClassVar[tuple[tuple[float, int], ...]] = ((0.9, 1), (0.95, 10))
    """(confidence, size) at which the accuracy statement is tested; empty: there is none."""
    trials: ClassVar[int] = 20_000
    """How often a release is repeated to see its error."""
    loose: ClassVar[float] = 1.0
    """The accuracy statement divided by this is false: by so much it may be loose."""
    grain: ClassVar[float] = 0.0
    """The spacing of the answers: the accuracy statement less this is false."""
    scales_back: ClassVar[bool] = True
    """Whether there is a `for_accuracy` to go back from the statement to the noise."""
    epsilons: ClassVar[tuple[float, ...]] = (0.0, 0.1, 0.35, 0.8)
    """Where the loss is compared with an independent computation; empty: it is tested elsewhere."""
    tight: ClassVar[float] = 1e-9
    """Relative excess allowed to the loss over the independent computation."""
    sample: ClassVar[int] = DRAWS
    """How many releases are compared with the distribution function."""
    planted: ClassVar[tuple[float, ...]] = (0.85, 1.15)
    """Wrong noise scales which the test of the distribution must reject; empty: tested elsewhere."""
    bad_parameters: ClassVar[tuple[dict[str, Any], ...]] = ()
    """Changes to the parameters of the first case that must be refused."""
    bad_values: ClassVar[tuple[Any, ...]] = (math.nan, math.inf, -math.inf, "41", None, True, 1j, [], [[]])
    """Inputs that must be refused."""
    revealing: ClassVar[tuple[Any, ...]] = ([12345.678, math.nan], [math.inf, 12345.678])
    """Inputs that must be refused without showing 12345."""

    # -- hooks -------------------------------------------------------------------------------------

    def calibrated(self, promise: Guarantee) -> Mechanism:
        """The mechanism made to keep a promise."""
        raise NotImplementedError

    def changed(self, mechanism: Any, factor: float) -> Mechanism:
        """The mechanism with its noise multiplied."""
        raise NotImplementedError

    def for_accuracy(self, case: Case, within: float, confidence: float, size: int) -> Mechanism:
        """The noisiest mechanism that is within this far."""
        raise NotImplementedError

    def draws(self, case: Case, mechanism: Any, n: int) -> np.ndarray:
        """n independent releases as real numbers, of which `cdf` is the law."""
        return np.asarray(mechanism.releases(0, n), dtype=float)

    def cdf(self, case: Case, x: np.ndarray) -> np.ndarray:
        """The distribution function of `draws`, from an independent source."""
        raise NotImplementedError

    def profile(self, case: Case, epsilon: float) -> float:
        """The least delta at epsilon, by a computation that shares no code with the loss."""
        raise NotImplementedError

    def errors(self, case: Case, mechanism: Any, size: int, trials: int) -> np.ndarray:
        """The largest error over `size` coordinates, in each of `trials` releases."""
        released = mechanism.releases(np.zeros(size, dtype=self.dtype), trials)
        return np.abs(np.asarray(released, dtype=float)).max(axis=1)

    # -- parametrisation ---------------------------------------------------------------------------

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", self.cases, ids=[case.label for case in self.cases])

    # -- a value -----------------------------------------------------------------------------------

    def test_is_frozen_data(self, case: Case) -> None:
        mechanism = case.mechanism
        for field in fields(mechanism):
            with pytest.raises(FrozenInstanceError):
                setattr(mechanism, field.name, getattr(mechanism, field.name))
        assert mechanism == case.build(1.0)
        assert hash(mechanism) == hash(case.build(1.0))
        again = pickle.loads(pickle.dumps(mechanism))
        assert again == mechanism
        assert again.loss == mechanism.loss

    def test_loss_knows_its_neighbours(self, case: Case) -> None:
        mechanism = case.mechanism
        assert mechanism.loss.adjacency is mechanism.adjacency
        assert mechanism.loss is mechanism.loss  # worked out once
        assert mechanism.loss.delta(0.0) > 0

    def test_worst_pair_can_be_released(self, case: Case) -> None:
        mechanism = case.mechanism
        with bits("pair", case.label):
            first, second = (mechanism.release(x) for x in mechanism.worst_pair)
        assert type(first) is type(second)

    # -- release -----------------------------------------------------------------------------------

    def test_release_keeps_the_shape(self, case: Case) -> None:
        for given in self.inputs:
            with bits("shape", case.label):
                released = case.mechanism.release(given)
            if np.ndim(given) == 0:
                assert type(released) is self.scalar
            else:
                assert isinstance(released, np.ndarray)
                assert released.shape == np.shape(given)
                assert released.dtype == self.dtype

    def test_accepts_the_right_distribution(self, case: Case) -> None:
        if self.planted:
            with bits("right", case.label):
                drawn = self.draws(case, case.mechanism, self.sample)
            assert len(drawn) == self.sample
            assert follows(drawn, lambda x: self.cdf(case, x))

    def test_rejects_a_wrong_distribution(self, case: Case) -> None:
        for change in self.planted:
            with bits("wrong", case.label, change):
                drawn = self.draws(case, case.build(change), self.sample)
            assert not follows(drawn, lambda x: self.cdf(case, x)), change

    # -- what it costs -------------------------------------------------------------------------------

    def test_loss_agrees_with_an_independent_computation(self, case: Case) -> None:
        loss = case.mechanism.loss
        for epsilon in self.epsilons:
            truth = self.profile(case, epsilon)
            assert loss.delta(epsilon) >= truth * (1 - 1e-9) - 1e-14, epsilon
            assert loss.delta_bounds(epsilon).lower <= truth * (1 + self.tight) + 1e-12, epsilon
            assert loss.delta(epsilon) <= truth * (1 + self.tight) + 1e-12, epsilon

    def test_loss_of_less_noise_is_larger(self, case: Case) -> None:
        truth = case.mechanism.loss
        for epsilon in self.epsilons[:1]:
            assert case.build(0.85).loss.delta(epsilon) > truth.delta(epsilon) * 1.01

    def test_calibrated_keeps_the_promise(self) -> None:
        for promise in self.promises:
            mechanism: Any = self.calibrated(promise)
            assert promise.holds(mechanism.loss), promise

    def test_less_noise_breaks_the_promise(self) -> None:
        for promise in self.promises:
            assert not promise.holds(self.changed(self.calibrated(promise), self.less).loss), promise

    # -- how far off it is -----------------------------------------------------------------------------

    def test_accuracy_holds_and_is_no_looser_than_stated(self, case: Case) -> None:
        for confidence, size in self.confidences:
            mechanism = case.mechanism
            within = mechanism.accuracy(confidence, size)
            with bits("accuracy", case.label, size):
                errors = self.errors(case, mechanism, size, self.trials)
            assert errors.shape == (self.trials,)
            kept = int((errors <= within * (1 + 1e-9)).sum())
            assert frequency(kept, self.trials)[1] >= confidence, (confidence, size)
            tighter = within / self.loose - self.grain
            kept = int((errors <= tighter).sum())
            assert frequency(kept, self.trials)[0] <= confidence, (confidence, size)

    def test_accuracy_grows_with_confidence_and_size(self, case: Case) -> None:
        if self.confidences:
            mechanism = case.mechanism
            assert 0 <= mechanism.accuracy(0.5) <= mechanism.accuracy(0.9) <= mechanism.accuracy(0.999999)
            assert mechanism.accuracy(0.9) <= mechanism.accuracy(0.9, 2) <= mechanism.accuracy(0.9, 1000)

    def test_for_accuracy_goes_back(self, case: Case) -> None:
        if not self.scales_back:
            return
        for confidence, size in self.confidences:
            within = case.mechanism.accuracy(confidence, size) + self.grain / 2
            back: Any = self.for_accuracy(case, within, confidence, size)
            assert back.accuracy(confidence, size) <= within
            assert self.changed(back, 1.01).accuracy(confidence, size) > within  # type: ignore[attr-defined]

    @pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 1.5, math.nan, "0.9", None, True])
    def test_refuses_a_bad_confidence(self, case: Case, confidence: Any) -> None:
        if self.confidences:
            with pytest.raises(InvalidParameter, match="confidence"):
                case.mechanism.accuracy(confidence)

    # -- bad input -----------------------------------------------------------------------------------

    def test_refuses_bad_parameters(self) -> None:
        good = self.cases[0].mechanism
        known = {field.name: getattr(good, field.name) for field in fields(good) if field.init}
        for change in self.bad_parameters:
            with pytest.raises(InvalidParameter) as caught:
                type(good)(**(known | change))
            assert any(name in str(caught.value) for name in change), (change, str(caught.value))

    def test_refuses_bad_values(self, case: Case) -> None:
        for value in self.bad_values:
            with pytest.raises(InvalidParameter):
                case.mechanism.release(value)

    def test_errors_do_not_reveal_values(self, case: Case) -> None:
        for value in self.revealing:
            with pytest.raises(InvalidParameter) as caught:
                case.mechanism.release(value)
            assert "12345" not in str(caught.value)
            assert caught.value.__cause__ is None
