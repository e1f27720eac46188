"""Does a release keep its promise? Lower bounds on the privacy loss of anything that can be run.

audit.lower_bound(mechanism, trials=100_000)       of a mechanism, on its worst pair of inputs
audit.lower_bound(f, pair=(x, y))                  of any function
audit.attacks                                      what an attacker makes of a release
"""

from __future__ import annotations

from dalenius.audit import attacks
from dalenius.audit.attack import Attack
from dalenius.audit.bound import lower_bound
from dalenius.audit.result import Audit

__all__ = ["Attack", "Audit", "attacks", "lower_bound"]
