"""The daemon: engines for its tenants, kept busy by the watcher, the feed and the clock."""
