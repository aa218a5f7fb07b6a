"""Statements about bindings and about the tables of apps."""
