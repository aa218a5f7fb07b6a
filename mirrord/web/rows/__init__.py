"""The SQL of the console, by subject, as documented in docs/rows.md: role mirrord_app, one tenant per transaction."""
