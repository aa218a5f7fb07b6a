"""Bindings: the tables of an app, with rows that are pages."""
