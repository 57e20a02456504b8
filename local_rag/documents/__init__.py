"""From a file's bytes to a Document: decoding, front matter, markup, credentials, formats."""
