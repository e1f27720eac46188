"""Background work: slots, leases, cancel, resume."""
