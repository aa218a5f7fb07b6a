"""What agents and people ask mirrord to do: one function a command, on files only; sync sees what changed."""
