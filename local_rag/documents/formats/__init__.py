"""One module a format: bytes to text. `registry` says which file names are documents."""
