"""FACE: the console in a browser, an app on the rows: it knows Postgres as any other app may, no files, no daemon."""
