"""The daemon: one engine per tenant, driven by the watcher, the feed and the clock."""
