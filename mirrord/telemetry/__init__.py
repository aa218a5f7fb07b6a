"""What a running mirrord tells others about itself: logs, and messages to a service manager."""
