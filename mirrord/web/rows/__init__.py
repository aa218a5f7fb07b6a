"""The SQL of the console, by subject: what docs/rows.md documents, as mirrord_app, a tenant a transaction."""
