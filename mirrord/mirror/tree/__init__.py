"""The tree itself: system calls, contained paths, stable reads, layout, scans."""
