"""A real Kubernetes on this host: its programs, how they are started, and machines that are its nodes."""
