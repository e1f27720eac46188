"""A release together with what is public about it: checked once, for every method that simulates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.calculus.loss import Loss
from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.limits import numbers
from dalenius.infer.simulation.model import Model
from dalenius.infer.simulation.noise_laws import Noise, noise_laws, release_loss


@dataclass(frozen=True, eq=False)
class Release:
    """Released numbers, their noise and the number of rows they are of."""

    values: Reals
    noise: Noise
    loss: Loss
    n: int

    @classmethod
    def checked(cls, released: Any, mechanism: Any, n: Any) -> Release:
        """From a number or several."""
        if np.ndim(released) > 1 or np.size(released) == 0:
            raise InvalidParameter.of("released", "released must be one number, or a list of them.")
        values = numbers("released", np.atleast_1d(released), (np.size(released),))
        if not np.isfinite(values).all():
            raise InvalidParameter.of("released", "released must be finite numbers.")
        loss = release_loss(mechanism)
        return cls(values, Noise(noise_laws(mechanism, len(values))), loss, checks.count("n", n, least=1))


def checked_model(model: object, release: Release) -> Model:
    """The model, if it simulates as many numbers as were released."""
    if not isinstance(model, Model):
        raise InvalidParameter.of(
            "model",
            f"model is {checks.shown(model)}; it must be one of dalenius.infer.models or a "
            "dalenius.infer.SimulationModel.",
        )
    rng = np.random.default_rng(0)
    tried = model.sample(np.mean(model.space, axis=1), release.n, model.seeds(rng, release.n, 2))
    if tried.shape != (2, len(release.values)):
        raise InvalidParameter.of(
            "model",
            f"the model simulates {tried.shape[-1]} numbers, and {len(release.values)} were released; they must be the "
            "same statistics.",
        )
    return model


def generator(seed: Any, released: Reals | None = None) -> np.random.Generator:
    """Randomness for post-processing: the same seed gives the same intervals.

    With `released`, of the same numbers: a statement about simulated releases drawn anew with each release would not
    hold if all releases were compared with one fixed set of them.
    """
    key = [] if released is None else np.ascontiguousarray(released, dtype=float).view(np.uint32).tolist()
    return np.random.default_rng([checks.count("seed", seed), *key])
