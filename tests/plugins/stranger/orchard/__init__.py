"""A stranger's package: one plug-in for each of Prumo's points."""
