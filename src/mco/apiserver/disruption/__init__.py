"""PodDisruptionBudgets: what they allow, and the evictions that ask them."""
