"""What a ledger keeps, in words of its own: see docs/record-format.md."""
