"""`python -m prumo`, the same as `prumo`."""

from prumo.cli import main

main()
