"""Revisions of objects in one SQLite file.

Every change is one row with a number of its own, the resourceVersion: the current state, the watch history
and consistent pages of a list are all read from these rows, so nothing is written twice.
"""
