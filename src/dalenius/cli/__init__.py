"""The command line: `dalenius account`, `calibrate`, `explain` and `plot`."""
