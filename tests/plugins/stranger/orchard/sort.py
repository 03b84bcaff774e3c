"""The program of the workload; it reports a metric through the probe."""

import random
import sys
import time

from prumo_worker import probe

rows, columns = map(int, sys.argv[1:])
table = [[random.random() for _ in range(columns)] for _ in range(rows)]
began = time.perf_counter()
table.sort()
probe.metric(sort_seconds=time.perf_counter() - began)
