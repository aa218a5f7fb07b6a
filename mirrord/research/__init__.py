"""Research on pages: sources, surveys, speakers, segments and collections, each from rules to command line."""
