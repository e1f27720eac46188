"""Release that looks at the data, and what a release cost one person."""

from dalenius.adaptive.ptr.propose_test_release import ProposeTestRelease
from dalenius.adaptive.ptr.refusal import Refusal

__all__: list[str] = ["ProposeTestRelease", "Refusal"]
