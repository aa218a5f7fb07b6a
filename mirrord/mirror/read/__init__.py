"""Reading a tree in processes other than the daemon: pages, links, search."""
