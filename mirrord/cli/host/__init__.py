"""The daemon and the servers on this machine: setting up, running, installing, watching and diagnosing them."""
