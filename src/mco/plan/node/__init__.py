"""Decisions about one node: what a change is, whether it can be made, which actions make it, and what comes
next."""
