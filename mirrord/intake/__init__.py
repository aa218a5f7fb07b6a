"""
Files that tell of intent become rows: events, and requests that a person approves, where sync and commands meet.
"""
