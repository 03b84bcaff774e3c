"""`prumo retina`: from fundus photographs to a referral."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import click

from prumo.cli.group import LazyGroup
from prumo.errors import UnavailableError

COMMANDS = {
    "prepare": "Find the fundus in photographs, crop, scale and judge their quality.",
    "convert": "Split prepared photographs and write them as TFRecord shards.",
    "train": "Train a model on converted photographs.",
    "evaluate": "Judge a model on photographs that it has not seen.",
    "predict": "Grade photographs and say who should see a specialist.",
}
EPILOG = """\b
Example:
  prumo retina prepare photographs prepared --labels labels.csv
  prumo retina convert prepared
  prumo retina train prepared --out model --task grade
  prumo retina evaluate model prepared
  prumo retina predict model new/*.jpg --worklist
"""
_SHOWN_EXAMPLES = 3
_MODULES = ("cv2", "h5py", "onnx", "pydicom", "simplejpeg")


class RetinaGroup(LazyGroup):
    """Says what is not installed before a command's file would fail to import it."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command's file."""
        require_extra()
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=RetinaGroup,
    package="prumo_retina.commands",
    summaries=COMMANDS,
    epilog=EPILOG,
    short_help="Grade fundus photographs for diabetic retinopathy.",
)
def command() -> None:
    """From fundus photographs to a referral: decision support for diabetic retinopathy.

    It is no diagnosis, and it does not judge macular oedema.
    """


def counted_examples(kind: str, cases: Sequence[str]) -> Iterator[str]:
    """How many there are, and the first of them; nothing where there are none."""
    if cases:
        yield f"{kind}: {len(cases)}"
    yield from (f"  {case}" for case in cases[:_SHOWN_EXAMPLES])
    if len(cases) > _SHOWN_EXAMPLES:
        yield f"  … {len(cases) - _SHOWN_EXAMPLES} more"


def require_extra() -> None:
    """Say how to install what is missing, before a command begins."""
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise UnavailableError(
            f"prumo retina needs {', '.join(missing)}: install it with pip install 'prumo[retina]'"
        )
