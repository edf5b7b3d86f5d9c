"""The HTTP front: a TLS listener, the grammar of requests, and the handlers."""
