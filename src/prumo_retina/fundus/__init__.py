"""The fundus in a photograph: found, cut out, enhanced and judged."""
