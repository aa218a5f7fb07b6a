"""FACE: the MCP server that agents work through. Files only: no Postgres, no network on stdio."""
