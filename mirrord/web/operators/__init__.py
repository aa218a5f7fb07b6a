"""What only operators see and do: the trees of this machine, the tokens of agents, backups, and who decided what."""
