"""One file per figure; each gives static SVG that needs no script and no network."""
