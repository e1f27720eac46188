"""Plan a private training run: how much noise, what it costs as it goes on, what it means, and a picture."""

import tempfile
from pathlib import Path

import dalenius as dp
from dalenius import losses

RECORDS, BATCH, EPOCHS = 60_000, 600, 30
PROMISE = dp.ApproxDP(epsilon=3.0, delta=1e-6)

rate, steps = BATCH / RECORDS, EPOCHS * RECORDS // BATCH
tuning = losses.laplace(scale=4.0)  # one noisy validation count, paid from the same budget


def training(sigma: float, steps: int = steps) -> dp.Loss:
    """Noisy gradient steps on Poisson batches; sigma is relative to the clipping norm (add/remove)."""
    return losses.poisson_sampled(losses.gaussian(sigma=sigma), rate=rate) * steps + tuning


sigma = dp.calibrate(training, PROMISE)
print(f"{steps} steps at rate {rate:g} keep {PROMISE} with noise multiplier {sigma:.4f}.\n")

print(f"{'epoch':>5}  {'epsilon spent':>13}  {'best attack, 1 % false alarms':>29}")
for epoch in (5, 10, 20, EPOCHS):
    so_far = training(sigma, steps * epoch // EPOCHS)
    print(f"{epoch:>5}  {so_far.epsilon(PROMISE.delta):>13.4f}  {so_far.power(0.01):>28.1%}")

print(f"\n{training(sigma).explain(PROMISE.delta)}\n")

picture = Path(tempfile.mkdtemp()) / "budget.png"
training(sigma).plot(str(picture))
print(f"Picture: {picture}")
