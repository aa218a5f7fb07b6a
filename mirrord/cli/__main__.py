"""`python -m mirrord.cli`: for where the console script is not, or not to be trusted to be this one."""

from mirrord.cli import main

main()
