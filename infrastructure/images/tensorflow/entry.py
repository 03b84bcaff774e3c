"""`serve`: NGINX before Gunicorn with a Uvicorn worker for each core, as in the published study.

SIGTERM ends both; when one of them ends, so does the other.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

FOLDER = Path("/tmp/server")  # noqa: S108 (of a container, which nobody shares)
SOCKET = FOLDER / "gunicorn.sock"
LOOK_SECONDS = 0.05


def main() -> int:
    """Run both until one ends."""
    if sys.argv[1:] != ["serve"]:
        sys.stderr.write("this image knows one word: serve\n")
        return 2
    FOLDER.mkdir(exist_ok=True)
    port = os.environ.get("SAGEMAKER_BIND_TO_PORT", "8080")
    template = Path(__file__).with_name("nginx.conf").read_text("utf-8")
    (FOLDER / "nginx.conf").write_text(template.replace("PORT", port), "utf-8")
    workers = os.environ.get("MODEL_SERVER_WORKERS", str(len(os.sched_getaffinity(0))))
    timeout = os.environ.get("MODEL_SERVER_TIMEOUT", "60")
    gunicorn = ["gunicorn", "--bind", f"unix:{SOCKET}", "--workers", workers]
    gunicorn += ["--worker-class", "uvicorn_worker.UvicornWorker", "--timeout", timeout, "app:app"]
    children = [
        subprocess.Popen(["nginx", "-c", str(FOLDER / "nginx.conf")]),
        subprocess.Popen([sys.executable, "-m", *gunicorn], cwd=Path(__file__).parent),
    ]

    nginx, gunicorn_process = children
    is_stopped = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal is_stopped
        is_stopped = True
        # Gunicorn goes on until NGINX has passed on what it has accepted.
        nginx.send_signal(signal.SIGQUIT)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    while all(child.poll() is None for child in children):
        time.sleep(LOOK_SECONDS)
    for child in (nginx, gunicorn_process):
        if child.poll() is None:
            child.terminate()
            child.wait()
    return 0 if is_stopped else 1


if __name__ == "__main__":
    sys.exit(main())
