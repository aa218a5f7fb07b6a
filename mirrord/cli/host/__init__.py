"""The daemon on this machine: running, installing, watching and diagnosing it."""
