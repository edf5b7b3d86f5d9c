"""Every decision, as a function from values to a value that explains itself. Nothing here has an effect."""
