"""From the name of a document to its text: find, page, neighbours, grep, freshness."""
