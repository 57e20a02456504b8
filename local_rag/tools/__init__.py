"""One file per tool: its arguments, result, description and text form."""
