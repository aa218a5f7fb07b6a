"""The daemon: engines for its tenants, driven by the watcher, the feed and the clock."""
