"""Decisions about the installation itself: what the cluster's objects mean for it, and what it says of itself
(spec/operator.md 1)."""
