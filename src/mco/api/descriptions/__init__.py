"""What `kubectl explain` says of our kinds: sentences by the path of a field, laid over the schemas."""
