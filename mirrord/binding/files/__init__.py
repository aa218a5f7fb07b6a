"""Files of an app: attachments of its pages, read from a column or from the disk."""
