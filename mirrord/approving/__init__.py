"""Approvals: requests of agents become rows, and approved ones are run; here sync and commands meet."""
