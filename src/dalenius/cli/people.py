"""People who do not exist: a table to try things on, the same every time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

STATES = ("north", "east", "south", "west", "isles", "capital")
WEIGHTS = (0.16, 0.22, 0.25, 0.19, 0.03, 0.15)


def people(rows: int) -> Any:
    """An Arrow table: person, state, age, years of school, hours worked and income, with some incomes
    missing.

    One row per person and job; one person in six has two jobs. Income grows with school and age, is higher in
    the capital, and has a long tail.
    """
    import pyarrow as pa

    rng = np.random.default_rng(1977)
    persons = int(rows / 1.17)
    second = rng.choice(persons, rows - persons, replace=False)
    person = np.concatenate((np.arange(persons), second))
    state = rng.choice(len(STATES), persons, p=WEIGHTS)
    age = np.clip(rng.gamma(9.0, 4.7, persons) + 4, 16, 99).astype(int)
    school = np.clip(np.rint(rng.normal(12.5, 2.8, persons) - 0.02 * (age - 40)), 0, 22).astype(int)
    main = np.arange(rows) < persons
    hours = np.clip(np.where(main, rng.normal(36, 9, rows), rng.normal(12, 5, rows)), 1, 80).round(1)
    skill = 0.09 * school[person] + 0.035 * age[person] - 0.00035 * age[person] ** 2
    level = 8.1 + skill + 0.18 * (state[person] == 5) + 0.45 * rng.standard_normal(rows)
    income = np.exp(level) * hours / 36
    rich = rng.random(rows) < 0.004
    income = np.where(rich, income * (1 + rng.pareto(1.8, rows)), income).round(2)
    order = rng.permutation(rows)
    missing = rng.random(rows) < 0.03
    return pa.table(
        {
            "person": pa.array(person[order] + 100_000),
            "state": pa.array(np.array(STATES)[state[person]][order]),
            "age": pa.array(age[person][order]),
            "school": pa.array(school[person][order]),
            "hours": pa.array(hours[order]),
            "income": pa.array(income[order], mask=missing),
        }
    )


def write_people(path: Path, rows: int) -> None:
    """The table as a Parquet file."""
    import pyarrow.parquet as pq

    pq.write_table(people(rows), path)
