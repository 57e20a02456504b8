"""Decides what changes, and writes it: plan, apply, embed, the writers, the cache."""
