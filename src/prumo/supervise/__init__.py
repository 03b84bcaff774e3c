"""A small process between Prumo and what it runs, so that nothing is left running.

`GuardedProcess` is Prumo's side; `python -m prumo.supervise` is the other. The first line of
the guard's standard input is an `Order`; the open pipe itself is the lifeline. When it closes,
Prumo is gone, and the guard kills everything below itself. A line `stop` asks the command to end
(SIGTERM, and SIGKILL after a while); `kill` ends it at once. When all is over, one line on standard
output tells the `Ending`.
"""
