"""Pages for people without a session: shared by a link, or published under a name."""
