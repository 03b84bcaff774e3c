"""Dated catalogs and billing rules: time into money."""
