"""Opening data: one file for each thing that can hold a table.

Each gives an `Opened`: rows under internal names (`c0`, `c1`, ... by position), in one clean type for each kind,
and the fields that say what the columns are called. What "clean" means is written in `dalenius.tables.kinds`.
"""
