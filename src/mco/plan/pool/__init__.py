"""Decisions about a pool: who belongs to it, who moves next, what its status says."""
