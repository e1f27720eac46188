"""Limits on how often somebody may come, counted by all workers together.

A worker takes calls from the store a handful at a time and gives them out from memory, so that not every request
writes. What it took counts at once: together the workers never let more through than the limit, and may let through a
little less.
"""

from __future__ import annotations

import ipaddress
import threading

from dalenius.web.problems import Problem
from dalenius.web.store import Store, rates

HANDFULS = 40
"""Into so many handfuls a limit is divided."""


def visitor(host: str) -> str:
    """The address by which a visitor is counted: a household has 2^64 of IPv6, of which it may use another each time.

    >>> visitor("2001:db8::7:1"), visitor("10.0.0.1")
    ('2001:db8::/64', '10.0.0.1')
    """
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return host


class Limit:
    """So many a minute for each key; the next one is refused with status 429."""

    def __init__(self, store: Store, name: str, per_minute: int) -> None:
        self.store, self.name, self.per_minute = store, name, per_minute
        self.handful = max(1, per_minute // HANDFULS)
        self._held: dict[str, tuple[int, int]] = {}
        """For each key the minute, and what is left of the handful."""
        self._lock = threading.Lock()

    def take(self, key: str) -> None:
        """Count one; refuse it if it is too many."""
        now = rates.window()
        with self._lock:
            minute, left = self._held.get(key, (now, 0))
            if minute == now and left > 0:
                self._held[key] = (now, left - 1)
                return
        with self.store.writing() as connection:
            count = rates.add(connection, f"{self.name}:{key}", self.handful)
        if count - self.handful >= self.per_minute:
            raise Problem(
                429,
                f"more than {self.per_minute} requests came from here in a minute.",
                headers={"Retry-After": str(rates.WINDOW)},
            )
        with self._lock:
            if len(self._held) > 10_000:  # keys of minutes that are over
                self._held = {key: held for key, held in self._held.items() if held[0] == now}
            self._held[key] = (now, min(self.handful, self.per_minute - (count - self.handful)) - 1)
