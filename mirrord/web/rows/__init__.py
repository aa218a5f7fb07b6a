"""The SQL of the console, by subject, as mirrord_app."""
