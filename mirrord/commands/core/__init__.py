"""What all commands share: session, failures, paths, events and inputs."""
