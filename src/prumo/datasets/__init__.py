"""Data sets on the controller's side: found, checked, prepared once for all frameworks, fetched.

Like `environments`, it keeps in the cache what runs need and only the controller can make. The
worker's `data` only maps the prepared arrays.
"""
