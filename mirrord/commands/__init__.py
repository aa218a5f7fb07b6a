"""What agents and people ask mirrord to do: one function per command, on files only."""
