"""From a question to ranked passages: filters, fusion, snippets, weak hits."""
