"""Random questions about random tables with nasty rows, asked of a table and of its neighbours.

`rows` draws tables and units that are no good neighbours, `questions` draws what is asked, `stores` puts the rows
into an engine, `judge` says whether anything but the noise-covered integers tells the neighbours apart, and
`leaks` plants mistakes that the judge must find. `python -m tests.tables.hostile` runs a campaign.
"""
