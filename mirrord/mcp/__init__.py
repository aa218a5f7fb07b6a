"""FACE: the server that agents work through (Model Context Protocol). Files only: no Postgres, no network on stdio."""
