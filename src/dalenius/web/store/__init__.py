"""The console's own record: who may come in, what is registered, what was done. It holds no row of any data set.

A subject (people, tokens, jobs, ...) is one file with its tables, its `Subject` and its functions; `subjects.py` lists
the files. Every function takes the connection of a transaction that its caller opened:

    with store.writing() as connection:
        people.add(connection, ...)
"""

from dalenius.web.store.store import Store

__all__ = ["Store"]
