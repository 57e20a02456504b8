"""A snapshot as it is read: catalog, keyword and vector index, checksums, live swap, verify."""
