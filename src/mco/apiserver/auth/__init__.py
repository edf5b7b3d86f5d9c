"""Who asks (certificates, tokens), and may they (rules as data)."""
