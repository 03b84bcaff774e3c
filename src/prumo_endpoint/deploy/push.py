"""A local image is pushed to a private repository in ECR, under a tag that is its content's."""

from __future__ import annotations

import base64
import subprocess
from typing import TYPE_CHECKING, Any

from prumo.errors import InputError, PrumoError
from prumo_endpoint.image.engine import chosen_engine, run_followed
from prumo_endpoint.sagemaker.account import Account, AccountError, aws_errors
from prumo_endpoint.targets.container import complaint

if TYPE_CHECKING:
    from prumo.progress import Progress

_TAG_LENGTH = 16


def image_tag(image: str) -> str:
    """The beginning of the image's own digest: the same content has the same tag."""
    return str(_facts(image)["Id"]).removeprefix("sha256:")[:_TAG_LENGTH]


def image_architecture(image: str) -> str:
    """Such as amd64 or arm64; empty where the engine does not say."""
    return str(_facts(image).get("Architecture", ""))


def push_image(
    image: str, repository_url: str, tag: str, account: Account, progress: Progress
) -> None:
    """Push it, unless the repository has it already."""
    registry, _, repository = repository_url.partition("/")
    ecr = account.client("ecr")
    try:
        with aws_errors(f"image {tag}"):
            ecr.describe_images(repositoryName=repository, imageIds=[{"imageTag": tag}])
    except AccountError as error:
        if error.code != "ImageNotFoundException":
            raise
    else:
        return
    progress.show(f"pushing {image}")
    with aws_errors("the registry"):
        token = ecr.get_authorization_token()["authorizationData"][0]["authorizationToken"]
    user, _, password = base64.b64decode(token).decode().partition(":")
    program = chosen_engine().program
    login = subprocess.run(
        [program, "login", "--username", user, "--password-stdin", registry],
        input=password,
        capture_output=True,
        text=True,
        check=False,
    )
    if login.returncode:
        raise PrumoError(f"cannot log in to {registry}: {complaint(login)}")
    target = f"{repository_url}:{tag}"
    run_followed([program, "tag", image, target], f"tagging {image}", progress)
    run_followed([program, "push", target], f"pushing {image}", progress)


def _facts(image: str) -> dict[str, Any]:
    facts = chosen_engine().facts(image)
    if facts is None:
        raise InputError(
            f"there is no image '{image}' on this machine; without --image, Prumo builds one"
        )
    return facts
