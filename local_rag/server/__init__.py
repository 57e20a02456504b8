"""The MCP protocol: stdio, schemas, resources, prompts."""
