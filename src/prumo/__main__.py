"""`python -m prumo`, the same as `prumo`."""

from prumo.cli import main

if __name__ == "__main__":
    main()
