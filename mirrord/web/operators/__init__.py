"""What only operators see and do: the trees of this machine, and the tokens of agents."""
