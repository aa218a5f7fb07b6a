"""What all commands share: session, plans, failures, paths, events and inputs."""
