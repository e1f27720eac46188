"""What to believe of the parameters of a model, given a private release."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core import checks
from dalenius.core.arrays import Reals
from dalenius.errors import InvalidParameter
from dalenius.infer.limits import ALPHAS
from dalenius.infer.result import Result
from dalenius.infer.simulation.augmentation import Augmentation
from dalenius.infer.simulation.gibbs import SufficientStatisticsGibbs, moved_by_bounds
from dalenius.infer.simulation.models.family import Family
from dalenius.infer.simulation.released import Release, generator

METHODS: dict[str, type[Augmentation] | type[SufficientStatisticsGibbs]] = {
    "augmentation": Augmentation,
    "normal sums": SufficientStatisticsGibbs,
}
LEAD = 200
"""Steps of the fast sampler before the first one."""
MOVED = 0.1
"""Standard deviations of the sums by which bounds may move them where a method knows of no bounds."""
LEAST_EFFECTIVE = 400
"""Independent draws that the chains must be worth, for 95 % limits to be right to about a tenth of their error."""


def posterior(
    released: Any,
    mechanism: Any,
    family: Family,
    *,
    n: int,
    method: str = "augmentation",
    draws: int = 4000,
    chains: int = 4,
    seed: int = 0,
) -> Result:
    """Credible intervals that know of the noise, for an exponential family with a conjugate prior.

    "augmentation" draws from the exact posterior: rows are filled in and redrawn, clipping and any noise included (Ju,
    Awan, Gong and Rao 2022, "Data augmentation MCMC for Bayesian inference from privatized data"). "normal sums" takes
    the sums to be normal given the parameter, and bounds to bind no row (Bernstein and Sheldon 2018, "Differentially
    private Bayesian inference for exponential families"): its time does not grow with n, and where bounds do bind it
    gives no limits and says so. Pure post-processing.

    Parameters
    ----------
    released
        The released sums.
    mechanism
        What released them (Gaussian, Laplace, Geometric or DiscreteGaussian); a list if they had one each.
    family
        One of `dalenius.infer.models`, with its prior.
    n
        The number of rows, public.
    method
        "augmentation" or "normal sums".
    draws
        From each chain; half as many before them are thrown away.
    chains
        2 or more, which start from different parameters.
    seed
        For the simulation, which then can be repeated.

    Returns
    -------
    Result
        Posterior means, standard deviations and equal-tailed credible limits; its loss is that of the release. Without
        limits if the chains have not mixed, or bounds bind that the method knows nothing of.

    Raises
    ------
    InvalidParameter
        If the parts do not fit together.

    Examples
    --------
    >>> import dalenius as dp
    >>> noise = dp.mechanisms.Gaussian(sensitivity=1, sigma=5.0, adjacency=dp.REPLACE_ONE)
    >>> fit = dp.infer.posterior(29.3, noise, dp.infer.models.Bernoulli(), n=100, draws=1000)
    >>> bool(0.15 < fit.conf_int()[0, 0] < 0.25 < 0.35 < fit.conf_int()[0, 1] < 0.45)
    True
    """
    release, rng = Release.checked(released, mechanism, n), generator(seed)
    if not isinstance(family, Family):
        raise InvalidParameter.of(
            "family", f"family is {checks.shown(family)}; it must be one of dalenius.infer.models."
        )
    checks.one_of("method", method, *METHODS)
    steps, several = checks.count("draws", draws, 100), checks.count("chains", chains, 2)
    start = family.prior(rng, several)
    if family.contributions(family.rows(start, 1, rng)).shape[-1] != len(release.values):
        raise InvalidParameter.of("family", "the family has another number of released sums than were given.")
    values = np.tile(release.values, (several, 1))
    # Rows drawn from the prior may be so far off that they take long to come near: the fast sampler leads the way.
    near = SufficientStatisticsGibbs(family, values, release.noise, release.n, rng, start).run(1, LEAD)[-1]
    found = METHODS[method](family, values, release.noise, release.n, rng, near).run(steps, steps // 2)
    reported = np.stack([family.reported(theta) for theta in found])
    bound = ""
    if method == "normal sums":
        moved = moved_by_bounds(family, found.reshape(steps * several, -1), release.noise, release.n, rng)
        bound = "" if moved <= MOVED else (
            f"bounds bind: they move the sums of these rows by {min(moved, 1e6):.2g} standard deviations, and this "
            "method takes them to move none; use method='augmentation', which knows of bounds."
        )  # fmt: skip
    return _result(reported, release, family, method, bound)


def _result(found: Reals, release: Release, family: Family, method: str, bound: str) -> Result:
    together = found.reshape(-1, found.shape[-1])
    worth = effective_draws(found)
    common: Any = {
        "loss": release.loss,
        "method": f"posterior, by {method}",
        "nobs": release.n,
        "notes": (f"Credible limits, worth {int(worth.min())} independent draws.",),
    }
    if bound:
        return Result(family.names, together.mean(axis=0), reason=bound, **common)
    if worth.min() < LEAST_EFFECTIVE:
        reason = f"the chains are worth {int(worth.min())} independent draws, below {LEAST_EFFECTIVE}; ask for more."
        return Result(family.names, together.mean(axis=0), reason=reason, **common)
    alphas = [alpha for alpha in ALPHAS if alpha * worth.min() >= 10]
    return Result(
        family.names,
        together.mean(axis=0),
        limits=lambda alpha: np.quantile(together, [alpha / 2, 1 - alpha / 2], axis=0).T,
        bse=together.std(axis=0),
        alphas=alphas,
        **common,
    )


def effective_draws(found: Reals) -> Reals:
    """How many independent draws the chains (steps x chains x p) are worth (Vehtari et al. 2021)."""
    steps, chains, _ = found.shape
    centred = found - found.mean(axis=0)
    size = 2 ** int(np.ceil(np.log2(2 * steps)))
    spectrum = np.abs(np.fft.rfft(centred, size, axis=0)) ** 2
    autocovariance = np.fft.irfft(spectrum, size, axis=0)[:steps].mean(axis=1) / steps
    within = autocovariance[0] * steps / (steps - 1)
    total = within * (steps - 1) / steps + found.mean(axis=0).var(axis=0, ddof=1)
    total = np.maximum(total, 1e-300)
    correlation = 1 - (within - autocovariance) / total
    correlation[0] = 1.0
    pairs = correlation[: steps // 2 * 2].reshape(steps // 2, 2, -1).sum(axis=1)
    pairs = np.minimum.accumulate(np.where(np.cumprod(pairs > 0, axis=0) > 0, pairs, 0.0))
    length = np.maximum(-1 + 2 * pairs.sum(axis=0), 1 / np.log10(max(steps * chains, 10)))
    return np.asarray(steps * chains / length)


def calibration_ranks(
    family: Family,
    mechanism: Any,
    *,
    n: int,
    method: str = "augmentation",
    draws: int = 63,
    thin: int = 20,
    chains: int = 200,
    seed: int = 0,
) -> Reals:
    """Ranks of true parameters among posterior draws, which are uniform on 0 .. draws if the posterior is right.

    Simulation-based calibration (Talts et al. 2018): parameters from the prior, rows from the model and noise from the
    mechanism's law; one chain for each of them, started at the truth, which is a draw from its posterior.

    Parameters
    ----------
    family
        One of `dalenius.infer.models`, with its prior.
    mechanism
        What releases the sums; a list if they have one each.
    n
        The number of rows.
    method
        "augmentation" or "normal sums".
    draws
        Of each posterior, that the truth is ranked among.
    thin
        Steps of the chain from one of them to the next.
    chains
        How many parameters are tried.
    seed
        For the simulation, which then can be repeated.

    Returns
    -------
    ndarray
        chains x parameters.

    Raises
    ------
    InvalidParameter
        If the parts do not fit together.

    Examples
    --------
    >>> import dalenius as dp
    >>> noise = dp.mechanisms.Gaussian(sensitivity=1, sigma=2.0, adjacency=dp.REPLACE_ONE)
    >>> ranks = dp.infer.calibration_ranks(dp.infer.models.Bernoulli(), noise, n=20, draws=9, thin=5, chains=100)
    >>> ranks.shape, bool(3 < ranks.mean() < 6)
    ((100, 1), True)
    """
    rng = generator(seed)
    checks.one_of("method", method, *METHODS)
    if not isinstance(family, Family):
        raise InvalidParameter.of(
            "family", f"family is {checks.shown(family)}; it must be one of dalenius.infer.models."
        )
    sizes = [
        checks.count(name, value, 1) for name, value in (("draws", draws), ("thin", thin), ("chains", chains))
    ]
    kept, every, several = sizes
    truth = family.prior(rng, several)
    rows = family.rows(truth, checks.count("n", n, least=1), rng)
    sums = family.contributions(rows).sum(axis=1)
    release = Release.checked(np.zeros(sums.shape[1]), mechanism, n)
    released = sums + release.noise.draw(rng, several)
    sampler = METHODS[method](family, released, release.noise, release.n, rng, truth)
    found = sampler.run(kept * every, every)[every - 1 :: every]
    reported = np.stack([family.reported(theta) for theta in found])
    return np.asarray((reported < family.reported(truth)).sum(axis=0))
