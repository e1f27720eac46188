"""What the private generalized linear models share: a method that fits a curve."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from dalenius.calculus.loss import Loss
from dalenius.calculus.pairs.pair import Reals
from dalenius.learn.data.parameters import checked_guarantee, checked_ratio
from dalenius.learn.data.rows import RecordBlocks, Records
from dalenius.learn.methods.objective_perturbation import ObjectivePerturbation
from dalenius.learn.methods.plan import Method, Plan, checked_method, plan
from dalenius.learn.methods.pure_objective_perturbation import PureObjectivePerturbation
from dalenius.learn.models.row_model import RowModel
from dalenius.sums.curves import Curve


@dataclass(eq=False, repr=False, kw_only=True)
class PlannedModel(RowModel, ABC):
    """A GLM fitted privately; subclasses say which curve, by which plan, and what the labels mean."""

    @abstractmethod
    def _curve(self) -> Curve: ...

    @abstractmethod
    def _plan(self) -> Plan: ...

    def price(self) -> Loss:
        """What a fit will cost, whatever the data: `loss_` before it has happened."""
        return self._plan().loss

    def takes_blocks(self) -> bool:
        return isinstance(self._plan(), ObjectivePerturbation | PureObjectivePerturbation)

    def _fitted(self, data: Records | RecordBlocks, columns: int) -> Reals:
        """theta for prepared records."""
        chosen = self._plan()
        if isinstance(data, RecordBlocks):
            assert isinstance(chosen, ObjectivePerturbation | PureObjectivePerturbation)
            theta = chosen.fit(data, self._curve())
        else:
            theta = chosen.fit(data, self._curve())
        self.loss_, self.plan_ = chosen.loss, chosen
        self.n_features_in_ = columns
        return theta


@dataclass(eq=False, repr=False, kw_only=True)
class LinearModel(PlannedModel):
    """One whose plan follows from the promise and the name of a method."""

    noise_ratio: float = 1.2
    method: Method = "auto"

    def _plan(self) -> Plan:
        square, curve = self._square, self._curve()
        return plan(
            checked_guarantee(self.guarantee),
            curve.steepest * math.sqrt(square),
            curve.sharpest * square,
            checked_ratio(self.noise_ratio),
            checked_method(self.method),
        )
