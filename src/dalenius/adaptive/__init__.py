"""Release that looks at the data, and what a release cost one person."""

from dalenius.adaptive.ptr import (
    BestRelease,
    CalibratedRelease,
    LocalInterquartileRange,
    LocalMedian,
    LocalRegressionScale,
    NoisyMax,
    ProposeTestRelease,
    Refusal,
    StableMode,
    StableValue,
)

__all__: list[str] = [
    "BestRelease",
    "CalibratedRelease",
    "LocalInterquartileRange",
    "LocalMedian",
    "LocalRegressionScale",
    "NoisyMax",
    "ProposeTestRelease",
    "Refusal",
    "StableMode",
    "StableValue",
]
