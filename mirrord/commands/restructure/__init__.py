"""Commands that change many pages as one: all of it or nothing."""
