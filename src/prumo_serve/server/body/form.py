"""multipart/form-data: files as a web page or `curl -F` sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from prumo_serve.server.body import BodyImage, BodyImages
from prumo_serve.server.refusal import malformed, too_large, wrong_values

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

    from prumo_serve.server.body import BodyLimits

_MOST_BOUNDARY_BYTES = 70
"""RFC 2046."""


def read(body: bytes, content_type: str, limits: BodyLimits) -> BodyImages:
    """Every file of the form; fields without a file are refused, so that nothing is overlooked."""
    files = _Files(limits.images)
    try:
        parser = MultipartParser(_boundary(content_type), files.callbacks)
        parser.write(body)
        parser.finalize()
    except (FormParserError, UnicodeError):
        raise malformed("the body is not a form with the boundary of its content type") from None
    if not files.is_ended:
        raise malformed("the form has no end: its last boundary is missing")
    if not files.images:
        raise wrong_values("the form has no file")
    return BodyImages(tuple(files.images), is_list=len(files.images) > 1)


def _boundary(content_type: str) -> bytes:
    try:
        _, options = parse_options_header(content_type)
    except UnicodeError:
        options = {}
    boundary = options.get(b"boundary", b"")
    if not 1 <= len(boundary) <= _MOST_BOUNDARY_BYTES:
        raise malformed(
            f"the content type of a form has a boundary of 1 to {_MOST_BOUNDARY_BYTES} characters"
        )
    return boundary


class _Files:
    """Collects the files of a form while it is parsed."""

    def __init__(self, most_images: int) -> None:
        self.images: list[BodyImage] = []
        self.is_ended = False
        self._most_images = most_images
        self._field = bytearray()
        self._value = bytearray()
        self._disposition = b""
        self._content: list[bytes] = []

    @property
    def callbacks(self) -> MultipartCallbacks:
        """What the parser calls; it may give a header and a content in several pieces."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._field.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_part_data": lambda data, start, end: self._content.append(data[start:end]),
            "on_part_end": self._end,
            "on_end": self._end_form,
        }

    def _begin(self) -> None:
        if len(self.images) == self._most_images:
            raise too_large(f"a request may have at most {self._most_images} images")
        self._disposition = b""
        self._content = []

    def _end_header(self) -> None:
        if bytes(self._field).lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._field.clear()
        self._value.clear()

    def _end(self) -> None:
        _, options = parse_options_header(self._disposition)
        if b"filename" not in options:
            raise wrong_values("the form has a field that is not a file")
        content = b"".join(self._content)
        if not content:
            raise wrong_values(f"file {len(self.images) + 1} of the form is empty")
        self.images.append(BodyImage(content, options[b"filename"].decode("utf-8", "replace")))

    def _end_form(self) -> None:
        self.is_ended = True
