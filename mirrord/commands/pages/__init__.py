"""Commands on pages, folders and attachments."""
