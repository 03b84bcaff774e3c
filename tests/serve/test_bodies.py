"""Bodies of every accepted type: their images, or a refusal with the right status and words."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
import pytest

from prumo_serve.server.bodies import CONTENT_TYPES, BodyImages, images_in
from prumo_serve.server.refusal import Refusal
from prumo_serve.server.settings import Limits

LIMITS = Limits(images=3, pixels=100)
IMAGE = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)
PHOTOGRAPH = b"\xff\xd8\xff whatever a decoder makes of it \r\n--cut\r\n"
ENCODED = base64.b64encode(PHOTOGRAPH).decode()
FORM = "multipart/form-data; boundary=cut-here"
NPY = "application/x-npy"
JSON = "application/json"


@pytest.mark.parametrize(
    "content_type", ["image/jpeg", "image/jpg", "image/png", " IMAGE/JPEG ; quality=1"]
)
def test_an_image_is_its_body(content_type: str) -> None:
    assert contents(read(PHOTOGRAPH, content_type)) == [PHOTOGRAPH]


@pytest.mark.parametrize("content_type", ["", "text/plain", "image/gif", "application/x-npyz", "é"])
def test_other_types_are_refused_with_those_that_are_known(content_type: str) -> None:
    refused = refusal(PHOTOGRAPH, content_type)
    assert (refused.status, refused.kind) == (415, "unsupported_type")
    assert all(known in str(refused) for known in CONTENT_TYPES)


@pytest.mark.parametrize("content_type", [*CONTENT_TYPES[:-1], FORM])
def test_an_empty_body_is_malformed(content_type: str) -> None:
    assert (refusal(b"", content_type).status, str(refusal(b"", content_type))) == (
        400,
        "the body is empty",
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_is_an_image(dtype: Any, order: Any) -> None:
    found = read(npy(np.array(IMAGE, dtype, order=order)), NPY)
    assert not found.is_list
    (pixels,) = contents(found)
    assert pixels.dtype == dtype
    assert np.array_equal(pixels, IMAGE)


def test_an_array_of_images_is_a_list_even_of_one() -> None:
    assert read(npy(IMAGE[None]), NPY).is_list
    assert len(read(npy(np.stack([IMAGE] * 3)), NPY).images) == 3


@pytest.mark.parametrize(
    ("array", "status", "reason"),
    [
        (np.zeros((5, 4), np.uint8), 422, r"shape \(height, width, 3\)"),
        (np.zeros((5, 4, 4), np.uint8), 422, r"shape \(height, width, 3\)"),
        (np.zeros((0, 4, 3), np.uint8), 422, r"shape \(height, width, 3\)"),
        (np.zeros((0, 5, 4, 3), np.uint8), 413, "1 to 3 images"),
        (np.zeros((4, 5, 4, 3), np.uint8), 413, "1 to 3 images"),
        (np.zeros((11, 10, 3), np.uint8), 413, "at most 100 pixels"),
        (np.zeros((5, 4, 3), np.float64), 422, "uint8 or little-endian float32"),
        (np.zeros((5, 4, 3), ">f4"), 422, "uint8 or little-endian float32"),
        (np.full((5, 4, 3), -1, np.float32), 422, "from 0 to 255"),
        (np.full((5, 4, 3), np.nan, np.float32), 422, "from 0 to 255"),
        (np.full((5, 4, 3), np.inf, np.float32), 422, "from 0 to 255"),
        (np.full((5, 4, 3), 0.5, np.float32), 422, "multiply them by 255"),
        (np.full((5, 4, 3), 1, np.float32), 422, "multiply them by 255"),
        (np.stack([np.full((5, 4, 3), most, np.float32) for most in (9, 1)]), 422, r"image \[1\]:"),
    ],
)
def test_an_array_that_is_no_image_is_refused(array: Any, status: int, reason: str) -> None:
    with pytest.raises(Refusal, match=reason) as refused:
        read(npy(array), NPY)
    assert refused.value.status == status


def test_black_images_and_small_bytes_are_taken_as_they_are() -> None:
    assert contents(read(npy(np.zeros((5, 4, 3), np.float32)), NPY))[0].max() == 0
    assert contents(read(npy(np.ones((5, 4, 3), np.uint8)), NPY))[0].max() == 1


def test_an_array_of_objects_is_never_unpickled() -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert refusal(stream.getvalue(), NPY).status in {400, 422}


def test_an_array_that_claims_more_than_it_has_is_refused_without_reserving_memory() -> None:
    huge = npy(IMAGE).replace(b"(5, 4, 3)", b"(9, 9, 3)")
    assert "fewer or more bytes" in str(refusal(huge, NPY))
    endless = npy(IMAGE).replace(b"(5, 4, 3), }", b"(99999999999, 99999999999, 3)}")
    assert refusal(endless, NPY).status in {400, 413}


def test_a_long_header_of_an_array_is_refused() -> None:
    content = b"\x93NUMPY\x02\x00" + (1 << 30).to_bytes(4, "little") + b"{" * 4096
    assert "longer than 1024 bytes" in str(refusal(content, NPY))


def test_one_image_in_json() -> None:
    found = read(document({"image": ENCODED}), JSON)
    assert (contents(found), found.is_list) == ([PHOTOGRAPH], False)


def test_instances_are_a_list_of_base64_and_numbers() -> None:
    instances = [{"b64": ENCODED}, {"image": ENCODED, "name": "left.jpg"}, IMAGE.tolist()]
    found = read(document({"signature_name": "serving_default", "instances": instances}), JSON)
    first, second, third = contents(found)
    assert found.is_list
    assert first == second == PHOTOGRAPH
    assert [image.name for image in found.images] == ["", "left.jpg", ""]
    assert third.dtype == np.uint8
    assert np.array_equal(third, IMAGE)


@pytest.mark.parametrize(
    "bad", [{"b64": "xx"}, {"b64": ""}, 3, [[[0.1, 0.2, 1.0]]], [[[0, 0, 999]]]]
)
def test_of_several_instances_the_wrong_one_is_named(bad: Any) -> None:
    refused = refusal(document({"instances": [{"b64": ENCODED}, bad]}), JSON)
    assert refused.status == 422
    assert str(refused).startswith("instances[1]: ")


@pytest.mark.parametrize("kind", ["jpeg", "jpg", "png", "JPEG"])
def test_a_data_url_is_an_image(kind: str) -> None:
    found = read(document({"image": f"data:image/{kind};base64,{ENCODED}"}), JSON)
    assert contents(found) == [PHOTOGRAPH]


def test_numbers_with_a_point_stay_as_they_are() -> None:
    (pixels,) = contents(read(document({"instances": [(IMAGE + 0.5).tolist()]}), JSON))
    assert pixels.dtype == np.float32
    assert np.array_equal(pixels, (IMAGE + 0.5).astype(np.float32))


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe\xfa",
        b'{"image": NaN}',
        b'{"instances": [[[Infinity]]]}',
        b"[" * 100_000,
        b'{"instances":' * 100_000,
        b'{"instances": [' + b"9" * 5000 + b"]}",
        b'{"image": "x"}{}',
    ],
)
def test_what_is_not_json_is_malformed(body: bytes) -> None:
    refused = refusal(body, JSON)
    assert (refused.status, refused.kind) == (400, "malformed")


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ([], 422),
        ("text", 422),
        ({}, 422),
        ({"image": 3}, 422),
        ({"image": ""}, 422),
        ({"image": ENCODED, "b64": ENCODED}, 422),
        ({"image": ENCODED, "label": "x"}, 422),
        ({"image": ENCODED, "name": 3}, 422),
        ({"instances": {}}, 422),
        ({"instances": []}, 422),
        ({"instances": [3]}, 422),
        ({"instances": [[]]}, 422),
        ({"instances": [[[1, 2, 3]]]}, 422),
        ({"instances": [[[[1, 2, 3]], [[1, 2]]]]}, 422),
        ({"instances": [[[["1", "2", "3"]]]]}, 422),
        ({"instances": [[[[1, 2, None]]]]}, 422),
        ({"instances": [[[[1, 2, 256]]]]}, 422),
        ({"instances": [[[[1, 2, -1]]]]}, 422),
        ({"instances": [[[[1, 2, 10**30]]]]}, 422),
        ({"instances": [[[[True, True, False]]]]}, 422),
        ({"instances": [[[[0, 0, 0]] * 101]]}, 413),
        ({"instances": [{"b64": ENCODED}] * 4}, 413),
        ({"instances": [{"b64": ENCODED}], "image": ENCODED}, 422),
    ],
)
def test_json_of_another_form_is_refused(value: Any, status: int) -> None:
    assert refusal(document(value), JSON).status == status


@pytest.mark.parametrize(
    "text",
    [
        ENCODED[:-1],
        ENCODED + "\n",
        " " + ENCODED,
        ENCODED[:5] + "-" + ENCODED[6:],
        "=",
        "A===",
        "é",
        f"data:text/html;base64,{ENCODED}",
        f"data:image/png;base64,data:image/png;base64,{ENCODED}",
    ],
)
def test_base64_is_taken_by_the_letter(text: str) -> None:
    assert "not valid base64" in str(refusal(document({"image": text}), JSON))


def test_files_of_a_form_keep_their_names() -> None:
    found = read(form(("left eye.jpg", PHOTOGRAPH), ("olho-é.jpg", PHOTOGRAPH * 2)), FORM)
    assert found.is_list
    assert contents(found) == [PHOTOGRAPH, PHOTOGRAPH * 2]
    assert [image.name for image in found.images] == ["left eye.jpg", "olho-é.jpg"]


def test_a_form_with_one_file_is_one_image() -> None:
    assert not read(form(("a.jpg", PHOTOGRAPH)), FORM).is_list


@pytest.mark.parametrize(
    ("body", "content_type", "status", "reason"),
    [
        (b"nothing of a form", FORM, 400, "not a form"),
        (b"--other\r\n\r\n", FORM, 400, "not a form"),
        (b"--cut-here--\r\n", FORM, 422, "no file"),
        (b"--cut-here\r\n\r\nx\r\n--cut-here--", FORM, 422, "not a file"),
        (b"--cut-here\r\nA: " + b"b" * 9000, FORM, 400, "not a form"),
        (b"--cut-here\r\n" + b"A: b\r\n" * 50, FORM, 400, "not a form"),
        (b"--cut-here--\r\n", "multipart/form-data", 400, "boundary"),
        (b"--cut-here--\r\n", "multipart/form-data; boundary=", 400, "boundary"),
        (b"--cut-here--\r\n", "multipart/form-data; boundary=" + "a" * 71, 400, "boundary"),
        (b"--cut-here--\r\n", 'multipart/form-data; boundary="ł"', 400, "boundary"),
    ],
)
def test_a_broken_form_is_refused(body: bytes, content_type: str, status: int, reason: str) -> None:
    refused = refusal(body, content_type)
    assert refused.status == status
    assert reason in str(refused)


def test_a_form_that_ends_too_early_is_refused() -> None:
    whole = form(("a.jpg", PHOTOGRAPH))
    assert "has no end" in str(refusal(whole[:-12], FORM))


def test_a_form_with_an_empty_file_or_too_many_is_refused() -> None:
    assert refusal(form(("a.jpg", b"")), FORM).status == 422
    assert refusal(form(*[("a.jpg", PHOTOGRAPH)] * 4), FORM).status == 413


def test_a_refusal_never_cites_what_was_sent() -> None:
    patient = "Maria-Silva"
    for body, content_type in [
        (patient.encode(), NPY),
        (patient.encode(), FORM),
        (document({"image": patient}), JSON),
        (document({patient: patient}), JSON),
        (form((patient, b"")), FORM),
        (b"x", patient),
    ]:
        assert patient not in str(refusal(body, content_type))


def read(body: bytes, content_type: str) -> BodyImages:
    return images_in(body, content_type, LIMITS)


def refusal(body: bytes, content_type: str) -> Refusal:
    with pytest.raises(Refusal) as refused:
        read(body, content_type)
    assert 400 <= refused.value.status < 500
    return refused.value


def contents(found: BodyImages) -> list[Any]:
    return [image.content for image in found.images]


def document(value: Any) -> bytes:
    return json.dumps(value).encode()


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def form(*files: tuple[str, bytes]) -> bytes:
    parts = [
        b'--cut-here\r\nContent-Disposition: form-data; name="image"; filename="%b"\r\n'
        b"Content-Type: image/jpeg\r\n\r\n%b\r\n" % (name.encode(), content)
        for name, content in files
    ]
    return b"".join(parts) + b"--cut-here--\r\n"
