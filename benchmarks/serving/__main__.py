"""Run the comparison; fails when a promise is not kept.

python -m benchmarks.serving [--networks mobilenet] [--servers keras,lean-int8] [--quick]
                             [--markdown FILE]
"""

from __future__ import annotations

import sys

from benchmarks.serving.comparison import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
