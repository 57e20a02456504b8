"""Answers from your own documents: ingest them once, then search them over MCP."""

__version__ = "0.1.0"

import os

# Before any library is imported. An OTEL_PROPAGATORS that is meant for another program ends the
# import of mcp with an exception; onnxruntime 1.32 keeps a device id in the home folder and
# reports its use to its maker unless it is told not to.
for _name in [name for name in os.environ if name.startswith("OTEL_")]:
    del os.environ[_name]
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
