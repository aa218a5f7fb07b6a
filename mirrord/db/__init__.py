"""Postgres: the only package that speaks SQL."""
