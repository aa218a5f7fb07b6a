"""Commands of agents and people: one function per command, on files only; sync detects the changes."""
