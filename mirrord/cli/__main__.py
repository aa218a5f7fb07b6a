"""`python -m mirrord.cli`, for when the console script is missing or not trusted."""

from mirrord.cli import main

main()
