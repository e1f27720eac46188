"""Losses from the events of Google's dp-accounting, which tell what was released without telling what it costs.

An event is known by the name of its class, so that dp-accounting is needed by whoever makes events and not here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.calculus.losses.best_of import best_of, best_of_poisson
from dalenius.calculus.losses.discrete import from_pair, geometric, randomized_response
from dalenius.calculus.losses.gaussian import gaussian
from dalenius.calculus.losses.laplace import laplace
from dalenius.calculus.losses.mixture_of_gaussians import mixture_of_gaussians
from dalenius.calculus.losses.renyi import rdp, zcdp
from dalenius.calculus.losses.sampling import poisson_sampled, sampled_without_replacement
from dalenius.calculus.losses.truncated_poisson import truncated_poisson
from dalenius.calculus.losses.with_replacement import sampled_with_replacement
from dalenius.core import checks
from dalenius.core.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dalenius.core.adjacency import adjacency as checked_adjacency
from dalenius.errors import AdjacencyMismatch, InvalidParameter


def from_dp_accounting(event: object, adjacency: Adjacency) -> Loss:
    """The loss of an event of the dp-accounting library, such as `dp_accounting.GaussianDpEvent(1.0)`.

    Sums of clipped values move by the bound C when a record is added or removed and by 2C when one is replaced, so that
    a noise multiplier is worth half under replace-one. Nothing is computed by dp-accounting.

    Parameters
    ----------
    event
        A no-op or non-private event; Gaussian, Laplace or discrete Laplace noise; a mixture of Gaussians; randomized
        response and sampling with and without replacement (for replace-one neighbours); Poisson sampling, of Gaussian
        noise also with batches of a largest size; zero-concentrated
        promises; a tree over one epoch (add/remove); repeat-and-select; and compositions of these.
    adjacency
        The neighbouring relation, `dp.ADD_REMOVE` or `dp.REPLACE_ONE`, of which events say nothing.

    Returns
    -------
    Loss
        The loss of all that the event describes.

    Raises
    ------
    InvalidParameter
        If it is no event, or one of a kind that is not known here; its name is in the message.
    AdjacencyMismatch
        If events of this kind are understood for the other neighbouring relation only.

    Examples
    --------
    >>> import dalenius as dp, dp_accounting as google  # doctest: +SKIP
    >>> step = google.PoissonSampledDpEvent(0.01, google.GaussianDpEvent(1.0))  # doctest: +SKIP
    >>> run = dp.losses.from_dp_accounting(google.SelfComposedDpEvent(step, 1000), dp.ADD_REMOVE)  # doctest: +SKIP
    >>> round(run.epsilon(1e-5), 4)  # doctest: +SKIP
    2.1014
    """
    adjacency = checked_adjacency(adjacency)
    kind = type(event).__name__
    if not type(event).__module__.startswith("dp_accounting"):
        raise InvalidParameter(
            f"the event is {checks.shown(event)}; it must be one of dp-accounting's, such as GaussianDpEvent(1.0)."
        )
    reader = EVENTS.get(kind)
    if reader is None:
        raise InvalidParameter(
            f"an event of the kind {kind} has no loss here; known are {', '.join(sorted(EVENTS))}. Bound it by one of "
            "these, or make its loss with dalenius.losses."
        )
    try:
        return reader(event, adjacency)
    except RecursionError:
        raise InvalidParameter(
            f"the event {kind} holds events in events too deep to be followed; make one ComposedDpEvent of them all."
        ) from None


def _listed(name: str, values: Any) -> Any:
    if (
        not isinstance(values, Sequence | np.ndarray)
        or isinstance(values, str | bytes)
        or np.ndim(values) != 1
    ):
        raise InvalidParameter.of(name, f"{name} is {checks.shown(values)}; it must be a list.")
    return values


def _width(adjacency: Adjacency) -> int:
    """By how many clipping bounds a sum moves between neighbours."""
    return 2 if adjacency is REPLACE_ONE else 1


def _only(wanted: Adjacency, adjacency: Adjacency, event: Any) -> None:
    if adjacency is not wanted:
        raise AdjacencyMismatch(
            f"{type(event).__name__} is understood for {wanted.value} neighbours only; pass adjacency="
            f"dalenius.{wanted.name}."
        )


def _everything(adjacency: Adjacency) -> Loss:
    return from_pair([1.0, 0.0], [0.0, 1.0], adjacency)


def _gaussian(event: Any, adjacency: Adjacency) -> Loss:
    if event.noise_multiplier == 0:
        return _everything(adjacency)
    return gaussian(event.noise_multiplier, _width(adjacency), adjacency)


def _laplace(event: Any, adjacency: Adjacency) -> Loss:
    if event.noise_multiplier == 0:
        return _everything(adjacency)
    return laplace(event.noise_multiplier, _width(adjacency), adjacency)


def _discrete_laplace(event: Any, adjacency: Adjacency) -> Loss:
    decay = checks.nonnegative("noise_parameter", event.noise_parameter)
    steps = checks.count("sensitivity", event.sensitivity)
    if decay == 0 or steps == 0:
        # Noise that never falls off does not exist; dp-accounting takes it for no privacy at all.
        return _everything(adjacency) if decay == 0 else Loss.zero(adjacency)
    scale = 1.0 / decay
    if 1.0 / scale < decay:
        scale = math.nextafter(scale, 0.0)
    return geometric(scale, steps * _width(adjacency), adjacency)


def _randomized_response(event: Any, adjacency: Adjacency) -> Loss:
    _only(REPLACE_ONE, adjacency, event)
    k = checks.count("num_buckets", event.num_buckets, least=1)
    noise = checks.probability("noise_parameter", event.noise_parameter)
    if k == 1:
        return Loss.zero(adjacency)
    if noise == 0.0:
        return _everything(adjacency)
    # The truth with probability 1 - p + p/k, each other answer with p/k; four roundings.
    return randomized_response(math.log1p(k * (1.0 - noise) / noise) * (1 + 2.0**-50), k, adjacency)


def _mixture(event: Any, adjacency: Adjacency) -> Loss:
    sensitivities = _listed("sensitivities", event.sensitivities)
    if len(sensitivities) and all(each == 0 for each in sensitivities):
        return Loss.zero(adjacency)
    if event.standard_deviation == 0:
        return _everything(adjacency)
    return mixture_of_gaussians(event.standard_deviation, sensitivities, event.sampling_probs, adjacency)


def _poisson_sampled(event: Any, adjacency: Adjacency) -> Loss:
    return poisson_sampled(from_dp_accounting(event.event, ADD_REMOVE), event.sampling_probability, adjacency)


def _without_replacement(event: Any, adjacency: Adjacency) -> Loss:
    _only(REPLACE_ONE, adjacency, event)
    inner = from_dp_accounting(event.event, adjacency)
    return sampled_without_replacement(inner, event.sample_size, event.source_dataset_size)


def _with_replacement(event: Any, adjacency: Adjacency) -> Loss:
    _only(REPLACE_ONE, adjacency, event)
    inner = from_dp_accounting(event.event, adjacency)
    return sampled_with_replacement(inner, event.sample_size, event.source_dataset_size)


def _truncated(event: Any, adjacency: Adjacency) -> Loss:
    if 0 in (event.sampling_probability, event.truncated_batch_size, event.dataset_size):
        return Loss.zero(adjacency)
    if event.noise_multiplier == 0:
        return _everything(adjacency)
    sizes = event.dataset_size, event.truncated_batch_size
    return truncated_poisson(event.noise_multiplier, event.sampling_probability, *sizes, adjacency=adjacency)


def _self_composed(event: Any, adjacency: Adjacency) -> Loss:
    return from_dp_accounting(event.event, adjacency) * checks.count("count", event.count)


def _composed(event: Any, adjacency: Adjacency) -> Loss:
    events = event.events
    if not isinstance(events, Sequence) or isinstance(events, str | bytes):
        raise InvalidParameter.of("events", f"events is {checks.shown(events)}; it must be a list of events.")
    return sum((from_dp_accounting(each, adjacency) for each in events), Loss.zero(adjacency))


def _tree(event: Any, adjacency: Adjacency) -> Loss:
    """A record is in one step of one tree, and in the nodes above it: ceil(log2(steps + 1)) of them at most."""
    _only(ADD_REMOVE, adjacency, event)
    counts = event.step_counts if isinstance(event.step_counts, list | tuple) else [event.step_counts]
    steps = max((checks.count("step_counts", each) for each in counts), default=0)
    if event.noise_multiplier == 0 and steps:
        return _everything(adjacency)
    return gaussian(event.noise_multiplier) * steps.bit_length() if steps else Loss.zero()


def _repeat_and_select(event: Any, adjacency: Adjacency) -> Loss:
    trial = from_dp_accounting(event.event, adjacency)
    if event.shape == math.inf:
        return best_of_poisson(trial, event.mean)
    return best_of(trial, event.mean, event.shape)


def _zcdp(event: Any, adjacency: Adjacency) -> Loss:
    rho, more = checks.nonnegative("rho", event.rho), checks.nonnegative("xi", event.xi)
    return rdp(_Concentrated(rho, more), adjacency) if more else zcdp(rho, adjacency)


@dataclass(frozen=True)
class _Concentrated:
    """(xi, rho)-zCDP (Bun and Steinke 2016, Definition 1.1): a function that pickles."""

    rho: float
    xi: float

    def __call__(self, order: float) -> float:
        return (self.xi + self.rho * order) * (1 + 2.0**-51)


EVENTS: Mapping[str, Callable[[Any, Adjacency], Loss]] = {
    "NoOpDpEvent": lambda event, adjacency: Loss.zero(adjacency),
    "NonPrivateDpEvent": lambda event, adjacency: _everything(adjacency),
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _randomized_response,
    "MixtureOfGaussiansDpEvent": _mixture,
    "PoissonSampledDpEvent": _poisson_sampled,
    "SampledWithoutReplacementDpEvent": _without_replacement,
    "SampledWithReplacementDpEvent": _with_replacement,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "SelfComposedDpEvent": _self_composed,
    "ComposedDpEvent": _composed,
    "RepeatAndSelectDpEvent": _repeat_and_select,
    "SingleEpochTreeAggregationDpEvent": _tree,
    "ZCDpEvent": _zcdp,
}
"""By the name of the event's class."""
