"""Speakers: who speaks in a transcript, and where."""
