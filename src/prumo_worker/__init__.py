"""What runs inside a framework's environment: standard library, numpy and that framework only.

Written in Python 3.9 syntax and free of imports from `prumo`, because the oldest environment that
a study may ask for has nothing newer.
"""
