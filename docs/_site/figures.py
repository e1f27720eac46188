"""The figures of the explanations and tutorials, drawn anew: `python docs/_site/figures.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import dalenius as dp
from dalenius.cli.people import STATES, people

IMAGES = Path(__file__).resolve().parents[1] / "images"
INK, BLUE, ORANGE, GREY = "#222222", "#3f51b5", "#e07b39", "#9aa0a6"


def training_plan() -> None:
    """Profiles of one, ten and thirty epochs of noisy descent."""
    epoch = dp.losses.poisson_sampled(dp.losses.gaussian(sigma=1.0), rate=0.01) * 100
    labels = ["1 epoch", "10 epochs", "30 epochs"]
    dp.plot(epoch, epoch * 10, epoch * 30, labels=labels, path=str(IMAGES / "training-plan.png"))


def beliefs() -> None:
    """How sure an attacker can become, against how sure they were."""
    figure, axes = plt.subplots(figsize=(6.4, 4.2), constrained_layout=True)
    prior = np.linspace(0, 1, 201)
    axes.plot(prior, prior, color=GREY, linestyle="--")
    for epsilon, shade in ((0.1, 0.25), (0.5, 0.4), (1.0, 0.6), (2.0, 0.8), (5.0, 1.0)):
        odds = np.exp(epsilon) * prior
        after = odds / (odds + 1 - prior)
        axes.plot(prior, after, color=BLUE, alpha=shade, linewidth=2)
        place = int(np.argmin(np.abs(prior - (1 - after))))
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        axes.text(
            prior[place], after[place], f"ε = {epsilon:g}", ha="center", va="center", fontsize=9, bbox=paper
        )
    axes.set(
        xlabel="how sure they were that you are in the data",
        ylabel="how sure they can become, at most",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / "beliefs.png", dpi=150)


def first_answer() -> None:
    """Noisy means with their intervals beside the true ones, of people who do not exist."""
    session = dp.Session(
        people(20_000),
        unit=dp.Unit("person", max_rows=2),
        budget=dp.ZCDP(1.0),
        schema=dp.Schema(nulls="drop"),
    )
    table = session.table.group_by("state", keys=list(STATES))
    question = table.agg(pay=dp.mean("income", bounds=(0, 250_000)))
    answer = session.release(question, budget=dp.ZCDP(0.05)).to_pandas()
    rows = people(20_000).to_pandas()
    true = rows["income"].clip(0, 250_000).groupby(rows["state"]).mean()
    figure, axes = plt.subplots(figsize=(6.4, 3.6), constrained_layout=True)
    places = np.arange(len(answer))
    low, high = answer["pay_low"], answer["pay_high"]
    axes.vlines(places, low, high, color=BLUE, linewidth=7, alpha=0.35, label="95 % interval")
    axes.plot(places, answer["pay"], "o", color=BLUE, label="released")
    axes.plot(
        places, true[answer["state"]], "_", color=ORANGE, markersize=22, label="in the data (never shown)"
    )
    axes.set_xticks(places, answer["state"])
    axes.set_ylabel("mean income")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    figure.savefig(IMAGES / "first-answer.png", dpi=150)


if __name__ == "__main__":
    training_plan()
    beliefs()
    first_answer()
