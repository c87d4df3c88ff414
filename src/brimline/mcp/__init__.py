"""Door: the MCP server through which the model reaches what is stored."""
