"""Isolated framework installations with locks.

Each framework and version lives in a folder of its own in the user's cache, so that two versions
of one library, or two libraries that cannot share a numpy, can be compared. How it gets there is
its installer's business: pip in a virtual environment, or the packages of a Debian release.
"""
