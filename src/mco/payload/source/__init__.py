"""What the manifests say, once, in Python: `mco.payload.generate` writes them from here."""
