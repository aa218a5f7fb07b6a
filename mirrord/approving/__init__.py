"""Requests of agents become rows, and what a person approved is run: where sync and commands meet."""
