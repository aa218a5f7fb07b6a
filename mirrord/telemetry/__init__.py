"""What a running mirrord tells others about itself: logs, metrics, messages to a service manager."""
