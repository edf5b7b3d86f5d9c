"""Tables: what `kubectl get` prints, computed by the server."""
