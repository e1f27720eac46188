"""Random questions about random tables with nasty rows, asked of a table and of its neighbours.

`rows` draws tables and units that are no good neighbours, `questions` draws what is asked. `stores`, `lines` (CSV),
`databases` (DuckDB's own) and `objects` (pandas) put the rows where an engine reads them; `statements` lets a question
be compiled once for all of them. `judge` says whether anything but integers that noise covers tells neighbours apart,
`sessions` does so for whole sessions, `made` for synthetic tables and feeds, and `leaks` plants mistakes that must be
found. `campaign` says what is tried on each engine, `batches`, `worker` and `report` run it in parts and write it down:
`python -m tests.tables.hostile`.
"""
