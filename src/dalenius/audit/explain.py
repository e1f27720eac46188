"""An audit in plain sentences."""

from __future__ import annotations

import math

from dalenius.audit.result import Audit
from dalenius.core.decimals import rounded_down, rounded_up


def explain(audit: Audit) -> str:
    """What was run, the attack that tells most, and what follows."""
    best = max(audit.attacks, key=lambda attack: attack.epsilon(audit.level))
    lines = [
        f"Audited: {audit.subject}, {audit.trials} releases of each of two neighbouring inputs. Attacks were "
        "chosen on one half of them and measured on the other.",
    ]
    if audit.epsilon == 0.0:
        lines.append("No attack that was tried tells the two inputs apart at this number of trials.")
    else:
        caught = 1.0 - best.type_two
        lines.append(
            f"The attack that accuses the {best.accuses} input when {best.when} is right about at least "
            f"{_percent(caught, down=True)} of its releases and wrong about at most "
            f"{_percent(best.type_one)} of the other's."
        )
        lines.append(
            f"So epsilon is at least {rounded_down(audit.epsilon, 4)} at delta = {audit.level:g}, whatever "
            "happens inside."
        )
    if audit.claim is not None:
        claimed = audit.claim.epsilon(audit.level)
        verdict = "CONTRADICTED by these draws" if audit.contradicts() else "not contradicted"
        promised = "no epsilon" if math.isinf(claimed) else f"epsilon = {rounded_up(claimed, 4)}"
        lines.append(f"The claim ({audit.claim.expression}: {promised} there) is {verdict}.")
    lines.extend(f"NOT SEEN: {note}" for note in audit.unseen)
    lines.append(
        f"All of this is wrong with probability at most {1.0 - audit.confidence:.3g}, over the draws."
    )
    lines.append("An audit can only find fault: a claim that is not contradicted is not thereby proved.")
    return "\n".join(lines)


def _percent(share: float, down: bool = False) -> str:
    return f"{(rounded_down if down else rounded_up)(min(100.0, share * 100), 3)} %"
