"""Which files there are: walked, opened safely, hashed."""
