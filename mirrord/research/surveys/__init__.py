"""Surveys: tables of answers that become sources, cases and links."""
