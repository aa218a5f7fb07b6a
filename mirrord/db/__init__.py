"""POSTGRES: the only room that speaks SQL."""
