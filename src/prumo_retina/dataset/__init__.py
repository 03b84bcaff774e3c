"""A folder of photographs that are made alike: found, labelled, prepared, written down."""
