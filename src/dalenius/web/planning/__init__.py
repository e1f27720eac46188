"""The planner: what a release would promise, before there is any data. Public numbers in, certified bounds out."""
