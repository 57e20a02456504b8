"""Pure functions on strings and bytes."""
