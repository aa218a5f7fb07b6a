"""The console's own files: what a browser is sent besides pages."""
