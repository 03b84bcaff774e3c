"""Terminal tables, CSV, figures, one HTML page."""
