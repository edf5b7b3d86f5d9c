"""A Machine Config Operator: the operating system of every node of a fleet, managed as Kubernetes objects."""
