"""Leader election: one process of a component acts, and another takes over soon (spec/operator.md 2).

`timings` are the original's durations, `holder` says who holds a Lease and proves that he is gone, `decide`
is what a candidate does next, `elector` does it.
"""
