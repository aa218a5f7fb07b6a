"""Sync: pure functions decide what to do; observation, writing and the engine do it."""
