"""Reports of a running mirrord about itself: logs, measurements, and messages to a service manager."""
