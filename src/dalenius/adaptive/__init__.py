"""Release that looks at the data, and what a release cost one person."""

from dalenius.adaptive.pate.consensus_vote import ConsensusVote, pate_ptr, pate_ptr_smooth
from dalenius.adaptive.pate.gnmax import GNMax
from dalenius.adaptive.pate.smooth_sensitivity import VoteBound
from dalenius.adaptive.ptr.propose_test_release import ProposeTestRelease
from dalenius.adaptive.ptr.refusal import Refusal

__all__: list[str] = [
    "ConsensusVote",
    "GNMax",
    "ProposeTestRelease",
    "Refusal",
    "VoteBound",
    "pate_ptr",
    "pate_ptr_smooth",
]
