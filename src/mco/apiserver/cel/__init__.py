"""Rules in the Common Expression Language, with the functions that Kubernetes adds to it."""
