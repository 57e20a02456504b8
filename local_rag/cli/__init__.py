"""The command lines of `ingest.py` and `python -m local_rag`, their progress and log."""
