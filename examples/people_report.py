"""A private report on a table: counts and means with intervals, then a model, all paid from one budget."""

import numpy as np
import pandas as pd

import dalenius as dp

BUDGET = dp.ZCDP(0.5)  # for everything ever released about these people

# People who do not exist, most of them with one row or two.
rng = np.random.default_rng(7)
rows = 20_000
people = pd.DataFrame(
    {
        "person": rng.integers(0, 15_000, rows),
        "region": rng.choice(["north", "south", "isles"], rows, p=[0.5, 0.45, 0.05]),
        "age": rng.integers(18, 80, rows),
        "school": rng.integers(6, 20, rows),
    }
)
people["income"] = np.exp(8.5 + 0.09 * people["school"] + 0.01 * people["age"] + 0.4 * rng.normal(size=rows))

# What is public: who is protected, the groups, and where values lie. Nothing of it is read off the data.
session = dp.Session(
    people,
    unit=dp.Unit("person", max_rows=2),
    budget=BUDGET,
    schema=dp.Schema(
        {"region": {"categories": ["north", "south", "isles"]}, "income": {"bounds": (0, 150_000)}},
        nulls="drop",
    ),
)

question = session.table.group_by("region").agg(people=dp.count_distinct(), income=dp.mean("income"))
price = session.price(question, dp.within(2_000, confidence=0.95, column="income", rows=5_000))
print(f"To know the mean income of 5000 rows to 2000 would cost {price}.\n")

answer = session.release(question, budget=dp.ZCDP(0.1))
print(answer)
print(f"\nThe same, all intervals together at 99 %:\n{answer.at(confidence=0.99, simultaneous=True)}\n")

# One person may have two rows, so the fit costs more than what the model promises for one row.
features = {"age": (18, 80), "school": (0, 22)}
model = session.fit(dp.learn.LogisticRegression(dp.ZCDP(0.05)), features, target="income > 25000")
for age, school in ((25, 10), (50, 12), (50, 18)):
    sure = model.predict_proba([[age, school]])[0, 1]
    print(f"Aged {age} with {school} years of school: earns more than 25 000 with probability {sure:.2f}")

print(f"\nSpent rho {session.spent.rho:.4f}, left rho {session.remaining.rho:.4f}.")
