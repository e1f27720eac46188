"""What a notebook shows of a model: what it promises and what it cost, above scikit-learn's diagram."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.calculus.notebook import cost_rows
from dalenius.core import notebook
from dalenius.core.habits import Hinted


class InNotebooks(Hinted):
    """An estimator whose diagram has its promise above it. Stands before `BaseEstimator` among the bases.

    All of it was settled before the fit, or released by it.
    """

    _promise_said = "the first argument: LogisticRegression(dp.ApproxDP(1.0, 1e-6))"

    def _facts(self) -> list[tuple[str, str]]:
        model: Any = self
        facts = [("model", type(self).__name__), ("promise", notebook.shortened(repr(model.guarantee)))]
        if not hasattr(model, "loss_"):
            return [*facts, ("fitted", "not yet; price() is what a fit costs")]
        if hasattr(model, "coef_"):
            many = int(np.size(model.coef_))
            beside = " and an intercept" if np.any(getattr(model, "intercept_", 0.0)) else ""
            facts.append(("fitted", f"{many} coefficient{'s' * (many != 1)}{beside}"))
        promised = getattr(model.guarantee, "delta", 0.0)  # the promise's own, where it has one
        return [*facts, *(cost_rows(model.loss_, promised) if promised else cost_rows(model.loss_))]

    def _repr_html_inner(self) -> str:
        """What scikit-learn shows, with the promise above it."""
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        return notebook.table(self._facts()) + diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """The same for kernels of Jupyter, where diagrams are switched on."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = notebook.table(self._facts()) + bundle["text/html"]
        return bundle
