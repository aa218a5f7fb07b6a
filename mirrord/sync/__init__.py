"""SYNC: what to do is decided by pure functions; observe, apply and engine do it."""
