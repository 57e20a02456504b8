"""Command-line tools of the project."""
