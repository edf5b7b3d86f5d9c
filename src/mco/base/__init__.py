"""What even the pure packages need: errors and where in an object they lie."""
