"""What an attacker makes of a release: each attack runs on answers or on whatever gives them.

Attacks on secret bits return `Guesses`, attacks on who is in the data `Membership`: how good they are, with intervals,
beside the most that a privacy loss allows.
"""

from dalenius.audit.attacks.differencing import differencing as differencing
from dalenius.audit.attacks.differencing import differencing_subsets as differencing_subsets
from dalenius.audit.attacks.exhaustive import all_subsets as all_subsets
from dalenius.audit.attacks.exhaustive import exhaustive_reconstruction as exhaustive_reconstruction
from dalenius.audit.attacks.fitted_models import likelihood_ratio as likelihood_ratio
from dalenius.audit.attacks.fitted_models import loss_threshold as loss_threshold
from dalenius.audit.attacks.guesses import Guesses as Guesses
from dalenius.audit.attacks.hadamard import hadamard_reconstruction as hadamard_reconstruction
from dalenius.audit.attacks.linear import linear_reconstruction as linear_reconstruction
from dalenius.audit.attacks.linkage import Linkage as Linkage
from dalenius.audit.attacks.linkage import linkage as linkage
from dalenius.audit.attacks.membership import Membership as Membership
from dalenius.audit.attacks.published_counts import Budget as Budget
from dalenius.audit.attacks.published_counts import PublishedCounts as PublishedCounts
from dalenius.audit.attacks.published_counts import published_counts as published_counts
from dalenius.audit.attacks.published_table import PublishedTable as PublishedTable
from dalenius.audit.attacks.queries import hadamard_subsets as hadamard_subsets
from dalenius.audit.attacks.queries import random_bits as random_bits
from dalenius.audit.attacks.queries import random_subsets as random_subsets
from dalenius.audit.attacks.repeated_question import Repeated as Repeated
from dalenius.audit.attacks.repeated_question import repeated_question as repeated_question
from dalenius.audit.attacks.tracing import tracing as tracing
from dalenius.core.exports import exported

__all__ = exported(globals())
