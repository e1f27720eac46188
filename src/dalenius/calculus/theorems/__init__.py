"""Named theorems of differential privacy: numbers and curves in, certified numbers and curves out."""

from __future__ import annotations

from dalenius.calculus.theorems import (
    clt,
    composition,
    conversions,
    duality,
    functionals,
    gaussian,
    subsampling,
)
from dalenius.calculus.theorems.clt import *  # noqa: F403
from dalenius.calculus.theorems.composition import *  # noqa: F403
from dalenius.calculus.theorems.conversions import *  # noqa: F403
from dalenius.calculus.theorems.duality import *  # noqa: F403
from dalenius.calculus.theorems.functionals import *  # noqa: F403
from dalenius.calculus.theorems.gaussian import *  # noqa: F403
from dalenius.calculus.theorems.subsampling import *  # noqa: F403

__all__: list[str] = []
__all__ += clt.__all__
__all__ += composition.__all__
__all__ += conversions.__all__
__all__ += duality.__all__
__all__ += functionals.__all__
__all__ += gaussian.__all__
__all__ += subsampling.__all__
