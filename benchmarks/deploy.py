"""How long `prumo endpoint deploy` takes beside a plain `terraform init` and `terraform apply`.

    python -m benchmarks.deploy

Both create the same configuration in an empty account that moto plays, by turns. Without the one
rule that the provider waits for, the difference is what Prumo adds: its ledger, the push of the
image, the upload of the model and the first request. The median of the ratios counts.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support import fake_docker
from support.fake_sagemaker import fake_aws, reset
from support.terraform import provider_mirror, without_lifecycle_rule

LIMIT = 1.3
TURNS = 3
NAME = "mobilenet"
PACKAGE = f"{NAME}.tar.gz"
DEPLOY = ("deploy", PACKAGE, "--image", "lean:1", "--memory", "2048", "--expires", "4h", "--yes")


class Turn(NamedTuple):
    """Seconds of each way, in an account that was empty."""

    deploy: float
    init: float
    apply: float


def main() -> int:
    if shutil.which("terraform") is None:
        print("prumo endpoint deploy: not measured, terraform is not installed")
        return 0
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, fake_aws() as aws:
        path = Path(folder)
        write_package(path / PACKAGE)
        os.environ |= aws.environment | {
            "TF_CLI_CONFIG_FILE": str(provider_mirror(path)),
            "PATH": f"{fake_docker.put_on_path(path / 'bin')}:{os.environ['PATH']}",
        }
        turns = []
        for turn in range(TURNS):
            here = path / str(turn)
            here.mkdir()
            shutil.copy(path / PACKAGE, here)
            without_lifecycle_rule(here / "deployments" / NAME / "terraform")
            deployed = seconds([sys.executable, "-m", "prumo", "endpoint", *DEPLOY], here)
            reset(aws)
            turns.append(Turn(deployed, *plain_seconds(here)))
            reset(aws)
    return judged(turns)


def write_package(path: Path) -> None:
    """As much of a packaged model as a deployment looks at."""
    manifest = path.parent / "manifest.json"
    manifest.write_text(json.dumps({"network": {"runtime": "onnxruntime"}}))
    with tarfile.open(path, "w:gz") as archive:
        archive.add(manifest, manifest.name)


def plain_seconds(deployed: Path) -> tuple[float, float]:
    """Of Terraform's init and apply alone, with the configuration that was deployed there."""
    folder = deployed / "plain"
    shutil.copytree(
        deployed / "deployments" / NAME / "terraform",
        folder,
        ignore=shutil.ignore_patterns(".terraform", "*.tfstate*"),
    )
    return seconds(["terraform", "init", "-input=false"], folder), seconds(
        ["terraform", "apply", "-input=false", "-auto-approve"], folder
    )


def seconds(command: list[str], folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - began


def judged(turns: list[Turn]) -> int:
    ratio = median(turn.deploy / (turn.init + turn.apply) for turn in turns)
    to_apply = median(turn.deploy / turn.apply for turn in turns)
    deploy, init, apply = (median(each) for each in zip(*turns, strict=True))
    print(
        f"prumo endpoint deploy: {deploy:.1f} s, {ratio:.2f} times terraform init and apply, "
        f"{init:.1f} + {apply:.1f} s (limit {LIMIT}); {to_apply:.2f} times apply alone"
    )
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
