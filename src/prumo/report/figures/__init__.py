"""One file per kind of figure; each gives static SVG that needs no script and no network."""
