"""Exit code 0 when the server of this container answers /ping with 200, else 1."""

import http.client
import os
import sys

port = int(os.environ.get("SAGEMAKER_BIND_TO_PORT", "8080"))
try:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4)
    connection.request("GET", "/ping")
    sys.exit(0 if connection.getresponse().status == 200 else 1)  # noqa: PLR2004 (HTTP's OK)
except OSError:
    sys.exit(1)
