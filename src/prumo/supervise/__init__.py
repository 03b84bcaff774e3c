"""Processes that Prumo starts, watched so that none outlives it. For everybody who starts one.

- `guard`: `GuardedProcess` runs a command under a small process of its own, `watch`. The first line
  of the guard's standard input is an `Order`; the pipe itself stays open as long as Prumo lives.
  When it closes, the guard kills everything below itself. A line `stop` asks the command to end
  (SIGTERM, and SIGKILL after a while); `kill` ends it at once. When all is over, one line on
  standard output reports the `Ending`.
- `parent_death`: commands that end with their parent, where a guard would be too much.
- `interruption`: Ctrl-C and SIGTERM, taken when nothing can be lost.
"""
