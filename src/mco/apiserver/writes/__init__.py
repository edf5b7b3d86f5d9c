"""Create, update, patch and delete: decided on plain values, committed if nothing changed meanwhile."""
