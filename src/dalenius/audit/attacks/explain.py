"""What published tables give away, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalenius.core.decimals import rounded_down

if TYPE_CHECKING:
    from dalenius.audit.attacks.published_counts import PublishedCounts


def published_counts(found: PublishedCounts, certainty: float) -> str:
    """What can be rebuilt today, who is alone, and what budget would have stopped it."""
    low, high = found.rows
    rows = f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
    tables = "One table counts" if found.tables == 1 else f"{found.tables} tables count"
    lines = [
        f"{tables} {rows} rows by {', '.join(found.columns)}: {len(found.cells):,} combinations can occur.",
        f"Rebuilt for certain, with a value in every column: {found.rebuilt:,} rows ({found.share:.1%}).",
        f"Combinations known exactly: {found.exact:,}. Known to be one single row: {found.unique:,}.",
    ]
    if found.tables == 1:
        lines.append("(It is all in the table itself; further tables of the same rows tell more.)")
    if not found.settled:
        lines.append("Time ran out: more than this may be known.")
    budget = found.budget(certainty)
    lines += [
        "",
        f"What would have stopped it: a budget with which nobody, unsure before, becomes more than "
        f"{100 * certainty:g} % sure that a row is there.",
        f"  PureDP({rounded_down(budget.epsilon, 4)}), {_each(found.tables)}: 95 % of the counts within "
        f"{budget.pure_noise:g} of the truth.",
        f"  GDP({rounded_down(budget.mu, 4)}) (on average over the noise): 95 % of the counts within "
        f"{budget.gaussian_noise:g}.",
    ]
    return "\n".join(lines)


def _each(tables: int) -> str:
    return "all of it for the table" if tables == 1 else f"1/{tables} of it for each table"
