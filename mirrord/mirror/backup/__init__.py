"""Backups on disk."""
