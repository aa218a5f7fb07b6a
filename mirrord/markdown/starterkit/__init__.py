"""Documents for editors that know TipTap's StarterKit, tables, tasks and images only, and the way back. Pure."""
