"""What is particular to a kind: what its writes fill in, keep and refuse."""
