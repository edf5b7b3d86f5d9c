"""What a change would be for a node, as values and as text for people, without showing secrets."""
