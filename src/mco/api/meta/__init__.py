"""What every kind shares: metadata, conditions, selectors, references, patches."""
