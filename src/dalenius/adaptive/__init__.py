"""Release that looks at the data, and what a release cost one person."""

from dalenius.adaptive.pate.consensus_vote import ConsensusVote, pate_ptr, pate_ptr_smooth
from dalenius.adaptive.pate.gnmax import GNMax
from dalenius.adaptive.pate.smooth_sensitivity import VoteBound
from dalenius.adaptive.ptr.propose_test_release import ProposeTestRelease
from dalenius.adaptive.ptr.refusal import Refusal
from dalenius.adaptive.regression.local_output_perturbation import local_output_perturbation
from dalenius.adaptive.regression.ops_ptr import ops_ptr

__all__: list[str] = [
    "ConsensusVote",
    "GNMax",
    "ProposeTestRelease",
    "Refusal",
    "VoteBound",
    "local_output_perturbation",
    "ops_ptr",
    "pate_ptr",
    "pate_ptr_smooth",
]
