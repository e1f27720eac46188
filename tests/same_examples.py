"""The same examples of Hypothesis in every run: they must not depend on what else a process has imported.

One draw in twenty is a constant of the modules that are there by then, and what is drawn after it depends on how many
these have: on which tests a worker ran before, and on every number in the code.
"""

from __future__ import annotations

from hypothesis.internal.conjecture import providers


def settle() -> None:
    """Let Hypothesis draw no constants of modules; earlier versions have none."""
    if hasattr(providers, "_get_local_constants"):
        nothing = providers.Constants()
        providers._get_local_constants = lambda: nothing
