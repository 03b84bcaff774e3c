"""The model that a container finds at /opt/ml/model."""

from __future__ import annotations

import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prumo.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def model_folder(model: Path) -> Iterator[Path]:
    """The folder itself, or a temporary one with what an archive holds, as SageMaker unpacks it."""
    if model.is_dir():
        yield model.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="prumo-model-") as folder:
        _unpack(model, Path(folder))
        # A container's user may be another one.
        Path(folder).chmod(0o755)
        yield Path(folder)


def _unpack(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive, "r:gz") as opened:
            for member in opened:
                if not (member.isfile() or member.isdir()):
                    raise InputError(
                        f"{archive}: {member.name} is neither a file nor a folder; "
                        "SageMaker takes no links in a model's archive"
                    )
                opened.extract(member, folder, filter="data")
    except FileNotFoundError as error:
        raise InputError(f"no such model: {archive}") from error
    except (OSError, EOFError, tarfile.TarError) as error:
        raise InputError(f"{archive} is neither a folder nor a model.tar.gz: {error}") from error
