"""Statistics on private data: estimates with intervals, and tests, that allow for the noise they were given."""

from dalenius.core.exports import exported

__all__ = exported(globals())
