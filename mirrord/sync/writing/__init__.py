"""Carrying out decisions: rows, files, moves, merges."""
