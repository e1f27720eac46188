"""python -m experiments --data DIR [--seeds N] [--only NAME]: writes experiments/RESULTS.md.

python -m experiments coverage [--replicates N] [--jobs N] [--keep DIR]: writes experiments/COVERAGE.md; with --keep,
what is done is kept in DIR, and a run that was stopped goes on from there.

python -m experiments NAME [--data DIR] [--seeds N], for adaptive_median, attacks, correlated_noise, infer_estimates,
infer_glm, infer_regression, infer_simulation, infer_tests, local_model, noisy_max, online_queries, ops_ptr, pate_ptr,
privacy_reports, query_release and synthetic_tables: writes the page of that name, such as NOISY_MAX.md, and its
picture.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments import (
    adaptive_median,
    attacks,
    bounds,
    classification,
    correlated_noise,
    coverage,
    infer_estimates,
    infer_glm,
    infer_regression,
    infer_simulation,
    infer_tests,
    local_model,
    noisy_max,
    online_queries,
    ops_ptr,
    pate_ptr,
    privacy_reports,
    query_release,
    regression,
    slopes,
    synthetic_tables,
)

HERE = Path(__file__).resolve().parent
USUAL = HERE.parent.parent / "shared" / "data"

PARTS = ("classification", "bounds", "regression", "slopes")
ALONE = {
    "adaptive_median": adaptive_median.main,
    "attacks": attacks.main,
    "correlated_noise": correlated_noise.main,
    "infer_estimates": infer_estimates.main,
    "infer_tests": infer_tests.main,
    "infer_regression": infer_regression.main,
    "infer_simulation": infer_simulation.main,
    "infer_glm": infer_glm.main,
    "local_model": local_model.main,
    "noisy_max": noisy_max.main,
    "online_queries": online_queries.main,
    "ops_ptr": ops_ptr.main,
    "pate_ptr": pate_ptr.main,
    "privacy_reports": privacy_reports.main,
    "query_release": query_release.main,
    "synthetic_tables": synthetic_tables.main,
}
"""Experiments with a page of their own."""
TITLES = {
    "classification": "Private logistic regression (thesis Tables 4.1, 4.2): test accuracy in %, delta = 1e-5",
    "bounds": "What objective perturbation costs (thesis Figure 4.1): epsilon at delta = 1e-5",
    "regression": "Linear regression: mean squared error on test rows, delta = 1e-6",
    "slopes": "How the error falls with n, epsilon = 1",
}
NOTE = """How to read them. Every private fit keeps its promise whole, and no setting depends on the data it is
fitted to. But the defaults were chosen by people who had seen some of these data sets, and that was not paid for:

- `intercept_scale` 0.3 and `noise_ratio` 1.2 were chosen while looking at test accuracies on Adult, `knee` 0.5
  while looking at all of these data sets (0.4, 0.6, 0.75 and 1 were tried; it is rarely the very best). The
  column "knee 1, bias 1, noise 1.3" has the thesis' constants instead.
- `shrink` 0.5 (statistics) was the best of four values on white wine, and the ridge of output perturbation the
  second of two rules tried there; the `knee` 0.5 of the Huber loss lies between the two values tried.
- Synthetic-L: the paper has 20 columns, the published code makes 40 (`experiments/data.py`); which of them the thesis
  used is not said, so both are here, with the same published numbers beside them."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=USUAL if USUAL.is_dir() else None)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", choices=PARTS, action="append")
    parser.add_argument("what", nargs="?", choices=("coverage", *ALONE))
    parser.add_argument("--replicates", type=int, default=coverage.REPLICATES)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    if asked.what == "coverage":
        coverage.main(HERE / "COVERAGE.md", asked.replicates, asked.jobs, asked.keep)
        return
    if asked.what:
        ALONE[asked.what](HERE, asked.data, asked.seeds)
        return
    (HERE / "parts").mkdir(exist_ok=True)
    for part in asked.only or PARTS:
        match part:
            case "classification":
                found = classification.run(asked.data, asked.seeds)
            case "bounds":
                found = bounds.run(HERE / "bounds.png") + "\n\n![bounds](bounds.png)"
            case "regression":
                found = regression.run(asked.data, asked.seeds)
            case _:
                found = slopes.run(asked.seeds)
        (HERE / "parts" / f"{part}.md").write_text(f"## {TITLES[part]}\n\n{found}\n")
        print(found, flush=True)
    kept = [HERE / "parts" / f"{part}.md" for part in PARTS]
    text = "\n".join(path.read_text() for path in kept if path.exists())
    head = f"# Results\n\nWritten by `make reproduce`: means and 95 % intervals, {asked.seeds} splits and noises."
    (HERE / "RESULTS.md").write_text(f"{head}\n\n{NOTE}\n\n{text}")
    if not asked.only:
        for run in ALONE.values():
            run(HERE, asked.data, asked.seeds)


if __name__ == "__main__":
    main()
