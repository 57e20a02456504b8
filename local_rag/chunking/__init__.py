"""From a Document to chunks, their sizes, and a table of contents."""
