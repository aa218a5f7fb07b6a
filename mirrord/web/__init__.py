"""FACE: the console in a browser, an app on the rows: no files, no daemon."""
