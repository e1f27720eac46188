"""Which noise is least for the same promise? Standard deviations for 1 to 1000 counts of one person."""

import math
from collections.abc import Callable

import dalenius as dp
from dalenius import losses

PROMISE = dp.ApproxDP(epsilon=1.0, delta=1e-6)


def laplace_deviation(scale: float) -> float:
    return math.sqrt(2) * scale


def gaussian_deviation(sigma: float) -> float:
    return sigma  # also that of the discrete Gaussian, to many digits, once sigma is above 1


MECHANISMS: dict[str, tuple[Callable[[float], dp.Loss], Callable[[float], float]]] = {
    "Laplace": (lambda b: losses.laplace(scale=b), laplace_deviation),
    "Gaussian": (lambda s: losses.gaussian(sigma=s), gaussian_deviation),
    "discrete Gaussian": (lambda s: losses.discrete_gaussian(sigma=s), gaussian_deviation),
}

print(f"Standard deviation of the noise on each of k counts, all together {PROMISE}:\n")
print(f"{'k':>5}" + "".join(f"{name:>20}" for name in MECHANISMS) + f"{'least':>20}")
for k in (1, 3, 10, 100, 1000):
    row = {}
    for name, (one, deviation) in MECHANISMS.items():
        scale = dp.calibrate(lambda x, one=one, k=k: one(x) * k, PROMISE, start=float(math.isqrt(k) + 1))
        row[name] = deviation(scale)
    least = min(row, key=lambda name, row=row: round(row[name], 3))
    print(f"{k:>5}" + "".join(f"{value:>20.3f}" for value in row.values()) + f"{least:>20}")
