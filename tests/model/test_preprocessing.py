"""What a network sees of an image is what it saw in training."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import simplejpeg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import ExifTags, Image

from prumo.errors import InputError
from prumo.progress import Silent
from prumo.report.language import language
from prumo_retina import prediction
from prumo_retina.fundus.preparation import Quality, Verdict
from prumo_retina.grade import Threshold
from prumo_retina.model import ModelDescription, ModelFolder
from prumo_retina.scoring import Scores
from prumo_retina.task import FundusPreprocessing
from prumo_serve.manifest import (
    ImagePreprocessing,
    Input,
    Manifest,
    NetworkFile,
    Normalization,
    Origin,
    Output,
)
from prumo_serve.preprocessing.decoding import BadImageError, TooManyPixelsError
from prumo_serve.task import PreparedImage, preprocessing
from support.fundus_factory import fundus, no_fundus, write_photograph
from support.retina_networks import description

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conftest import FrameworkPython

SIZE = 32
PIXELS = np.random.default_rng(1).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
LARGER = np.random.default_rng(2).integers(0, 256, (45, 71, 3), dtype=np.uint8)
EYE = fundus(403, 302, grade=2).pixels
# pytest would show the warnings of decoders, which the package keeps from its users.
pytestmark = pytest.mark.filterwarnings("ignore")
TENSORFLOW_TWINS = """
import json, sys
import numpy as np, tensorflow as tf
given = np.load(sys.argv[1])
jpeg = tf.io.decode_jpeg(given["jpeg"].tobytes(), channels=3, dct_method="INTEGER_ACCURATE")
tellings = {"jpeg": int(np.abs(jpeg.numpy().astype(int) - given["decoded"]).max())}
for method in ("bilinear", "area", "nearest"):
    twin = tf.image.resize(given["image"], given[method].shape[:2], method=method).numpy()
    tellings[method] = float(np.abs(twin.astype(np.float32) - given[method]).max())
print(json.dumps(tellings))
"""


def test_an_image_of_the_networks_size_is_not_touched() -> None:
    prepared = preprocessing(manifest()).prepared(png(PIXELS))
    assert tensor(prepared).dtype == np.float32
    assert np.array_equal(tensor(prepared), PIXELS)
    assert np.array_equal(picture(prepared), PIXELS)
    assert (prepared.width, prepared.height, prepared.quality) == (SIZE, SIZE, None)


def test_bytes_and_the_array_of_their_pixels_give_the_same() -> None:
    way = preprocessing(manifest())
    assert np.array_equal(tensor(way.prepared(png(LARGER))), tensor(way.prepared(LARGER)))


def test_a_jpeg_is_decoded_as_pillow_decodes_it() -> None:
    content = jpeg(LARGER)
    wanted = np.array(Image.open(io.BytesIO(content)))
    way = preprocessing(manifest(height=45, width=71))
    assert np.array_equal(tensor(way.prepared(content)), wanted)


def test_a_photograph_taken_on_its_side_is_turned() -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    content = jpeg(LARGER, exif=exif.tobytes())
    prepared = preprocessing(manifest(height=71, width=45)).prepared(content)
    wanted = np.rot90(np.array(Image.open(io.BytesIO(content))), -1)
    assert (prepared.width, prepared.height) == (45, 71)
    assert np.array_equal(tensor(prepared), wanted)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
def test_a_png_of_any_colours_is_read(mode: str) -> None:
    grey = np.full((SIZE, SIZE), 200, np.uint8)
    picture = Image.fromarray(grey)
    if mode == "I;16":
        picture = Image.fromarray(np.full((SIZE, SIZE), 200 << 8, np.uint16))
    elif mode != "L":
        picture = picture.convert(mode, dither=Image.Dither.NONE)
    pixels = tensor(preprocessing(manifest()).prepared(saved(picture, "PNG")))
    assert np.abs(pixels - (255 if mode == "1" else 200)).max() <= 1


def test_inks_are_read_as_colours() -> None:
    inks = Image.fromarray(np.full((SIZE, SIZE, 3), (200, 30, 40), np.uint8)).convert("CMYK")
    pixels = tensor(preprocessing(manifest()).prepared(saved(inks, "JPEG", quality=100)))
    assert np.abs(pixels - (200, 30, 40)).max() < 4


def test_the_form_is_the_networks() -> None:
    normalization = Normalization(offset=(100, 110, 120), scale=(2, 4, 5), channels="bgr")
    prepared = preprocessing(manifest(layout="NCHW", normalization=normalization)).prepared(PIXELS)
    bgr = PIXELS[..., ::-1].astype(np.float32)
    wanted = (
        (bgr - np.array([100, 110, 120], np.float32)) / np.array([2, 4, 5], np.float32)
    ).transpose(2, 0, 1)
    assert np.array_equal(tensor(prepared), wanted)
    assert tensor(prepared).flags.c_contiguous
    assert np.array_equal(picture(prepared), PIXELS)


def test_a_network_of_bytes_gets_bytes() -> None:
    prepared = preprocessing(manifest(dtype="uint8")).prepared(LARGER)
    assert tensor(prepared).dtype == np.uint8


@pytest.mark.parametrize("interpolation", ["bilinear", "area", "cubic", "nearest"])
@pytest.mark.parametrize("fit", ["stretch", "crop", "pad"])
def test_one_colour_stays_one_colour_in_every_size(fit: Any, interpolation: Any) -> None:
    how = ImagePreprocessing(fit=fit, interpolation=interpolation)
    way = preprocessing(manifest(how))
    for shape in [(1, 1), (5, 90), (90, 5), (31, 33), (200, 100)]:
        pixels = tensor(way.prepared(np.full((*shape, 3), 77, np.uint8)))
        assert pixels.shape == (SIZE, SIZE, 3)
        assert set(np.unique(pixels.round(3))) <= ({0, 77} if fit == "pad" else {77})


def test_a_crop_is_the_middle_and_a_pad_keeps_all() -> None:
    stripes = np.zeros((SIZE, 3 * SIZE, 3), np.uint8)
    stripes[:, SIZE : 2 * SIZE] = 200
    crop = tensor(preprocessing(manifest(ImagePreprocessing(fit="crop"))).prepared(stripes))
    pad = tensor(preprocessing(manifest(ImagePreprocessing(fit="pad"))).prepared(stripes))
    assert (crop == 200).all()
    assert (pad[0] == 0).all()
    assert (pad[-1] == 0).all()
    assert pad[SIZE // 2, SIZE // 2, 0] == 200


@pytest.mark.frameworks
def test_pixels_are_those_of_tensorflow(framework_python: FrameworkPython, tmp_path: Path) -> None:
    content = jpeg(EYE, quality=90)
    resized: dict[str, Any] = {
        name: tensor(preprocessing(manifest(ImagePreprocessing(interpolation=name))).prepared(EYE))
        for name in ("bilinear", "area", "nearest")
    }
    np.savez(
        tmp_path / "given.npz",
        jpeg=np.frombuffer(content, np.uint8),
        decoded=tensor(preprocessing(manifest(height=302, width=403)).prepared(content)),
        image=EYE,
        **resized,
    )
    ended = subprocess.run(
        [framework_python("tensorflow"), "-c", TENSORFLOW_TWINS, tmp_path / "given.npz"],
        check=True,
        capture_output=True,
    )
    differences = json.loads(ended.stdout)
    assert differences["area"] < 0.01
    assert {**differences, "area": 0} == {"jpeg": 0, "bilinear": 0, "area": 0, "nearest": 0}


@pytest.mark.parametrize("form", ["jpg", "png"])
def test_a_fundus_has_the_very_pixels_that_a_prediction_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    file = tmp_path / f"eye.{form}"
    file.write_bytes(jpeg(EYE, quality=95) if form == "jpg" else png(EYE))
    seen: list[np.ndarray] = []

    def score(_model: ModelFolder, jpegs: Sequence[Path], **_options: Any) -> Scores:
        seen.extend(simplejpeg.decode_jpeg(path.read_bytes()) for path in jpegs)
        return Scores(np.zeros((len(jpegs), 1), np.float32), None)

    monkeypatch.setattr(prediction, "score", score)
    told_by = ModelDescription.model_validate(description("referral", b"never loaded"))
    model = ModelFolder(tmp_path, told_by)
    (told,) = prediction.predict(model, [file], prediction.Request(Threshold(0.5)), Silent())
    size = model.description.preparation.size
    served = preprocessing(
        manifest(fundus_way(**model.description.preparation.model_dump()), height=size, width=size)
    ).prepared(file.read_bytes())

    assert np.array_equal(tensor(served), seen[0])
    assert served.quality == told.quality
    assert (served.width, served.height) == (403, 302)


def test_a_photograph_that_cannot_be_judged_has_a_reason_and_no_pixels(tmp_path: Path) -> None:
    dark = write_photograph(tmp_path / "dark.jpg", fundus(400, 300, brightness=0.05))
    way = preprocessing(manifest(fundus_way()))
    prepared = way.prepared(dark.read_bytes())
    assert prepared.pixels is None
    assert isinstance(prepared.quality, Quality)
    assert prepared.quality.verdict is Verdict.TOO_DARK
    nothing = way.prepared(no_fundus(400, 300))
    assert nothing.pixels is None
    assert isinstance(nothing.quality, Quality)
    assert nothing.quality.verdict is Verdict.NO_FUNDUS


def test_a_fundus_as_numbers_is_one_as_a_png() -> None:
    way = preprocessing(manifest(fundus_way()))
    assert np.array_equal(tensor(way.prepared(EYE)), tensor(way.prepared(png(EYE))))
    halves = EYE.astype(np.float32)
    assert np.array_equal(tensor(way.prepared(halves)), tensor(way.prepared(EYE)))


def test_a_network_of_another_size_than_its_photographs_is_refused() -> None:
    with pytest.raises(InputError, match=r"32 by 32 pixels, but its photographs are .* 299"):
        preprocessing(manifest(fundus_way(size=299)))


@pytest.mark.parametrize("kind", ["image", "fundus"])
def test_what_would_fill_the_memory_is_refused_by_its_header(kind: str) -> None:
    way = preprocessing(manifest(ways()[kind]), most_pixels=1000)
    for content in (png(LARGER), jpeg(LARGER), LARGER, jpeg(LARGER, progressive=True)):
        with pytest.raises(TooManyPixelsError) as refused:
            way.prepared(content)
        assert "71 by 45 pixels: at most 1000 are decoded" in str(refused.value)
    assert language("pt-BR").say(refused.value.reason).startswith("tem 71 por 45 pixels")


def test_a_jpeg_of_countless_scans_is_refused() -> None:
    content = jpeg(LARGER, progressive=True)
    start, end = content.index(b"\xff\xda"), content.rindex(b"\xff\xda")
    endless = content[:start] + content[start:end] * 100 + content[end:]
    for way in ways().values():
        with pytest.raises(BadImageError, match="more than 32 scans"):
            preprocessing(manifest(way)).prepared(endless)


def test_what_a_phone_appends_to_a_jpeg_is_no_scan() -> None:
    film = b"\xff\xda\x00\x02" * 100
    way = preprocessing(manifest())
    assert np.array_equal(
        tensor(way.prepared(jpeg(PIXELS) + film)), tensor(way.prepared(jpeg(PIXELS)))
    )


@pytest.mark.parametrize("kind", ["image", "fundus"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is neither JPEG nor PNG"),
        (b"GIF89a", "is neither JPEG nor PNG"),
        (b"\xff\xd8\xff", "cannot be decoded"),
        (b"\x89PNG\r\n\x1a\n", "cannot be decoded"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "cannot be decoded"),
    ],
)
def test_what_is_no_image_is_an_error_in_words(kind: str, content: bytes, reason: str) -> None:
    with pytest.raises(BadImageError, match=reason):
        preprocessing(manifest(ways()[kind])).prepared(content)


@pytest.mark.parametrize("kind", ["image", "fundus"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_damaged_image_is_read_or_refused_and_nothing_else(kind: str, data: Any) -> None:
    whole = data.draw(st.sampled_from(DAMAGED))
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    way = preprocessing(manifest(ways()[kind]), most_pixels=200_000)
    for content in (bytes(damaged), bytes(damaged[:cut])):
        with suppress(BadImageError):
            pixels = way.prepared(content).pixels
            assert pixels is None or pixels.shape == (SIZE, SIZE, 3)


def test_threads_may_share_one_preprocessing() -> None:
    contents = [jpeg(np.roll(LARGER, shift, axis=0)) for shift in range(8)]
    way = preprocessing(manifest())
    alone = [tensor(way.prepared(content)) for content in contents]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(way.prepared, contents * 10))
    for number, prepared in enumerate(together):
        assert np.array_equal(tensor(prepared), alone[number % 8])


def test_a_server_imports_nothing_heavy_to_prepare_photographs() -> None:
    program = (
        "import sys, prumo_retina.fundus.preprocessing, prumo_serve.preprocessing.image, "
        "prumo_retina.task, prumo_serve.heat_map, prumo_serve.server.bodies;"
        "print(*sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    heavy = {"scipy", "polars", "altair", "rich", "babel", "jinja2", "pydicom", "h5py", "onnx"}
    assert not heavy & set(ended.stdout.decode().split())


def manifest(
    way: ImagePreprocessing | FundusPreprocessing | None = None,
    height: int = SIZE,
    width: int = SIZE,
    **wanted: Any,
) -> Manifest:
    return Manifest(
        name="m",
        task="referral" if isinstance(way, FundusPreprocessing) else "classification",
        labels=("a", "b"),
        input=Input(
            tensor="x",
            height=height,
            width=width,
            preprocessing=way or ImagePreprocessing(),
            **wanted,
        ),
        output=Output(tensor="y", kind="scores"),
        network=NetworkFile(file="network.onnx", runtime="onnxruntime"),
        origin=Origin(format="onnx", name="m.onnx", sha256="0" * 64),
    )


def fundus_way(**preparation: Any) -> FundusPreprocessing:
    return FundusPreprocessing(preparation={"size": SIZE, **preparation})


def ways() -> dict[str, ImagePreprocessing | FundusPreprocessing]:
    return {"image": ImagePreprocessing(), "fundus": fundus_way()}


def tensor(prepared: PreparedImage) -> np.ndarray:
    assert prepared.pixels is not None
    return prepared.pixels


def picture(prepared: PreparedImage) -> np.ndarray:
    assert prepared.picture is not None
    return prepared.picture


def png(pixels: np.ndarray) -> bytes:
    return saved(Image.fromarray(pixels), "PNG")


def jpeg(pixels: np.ndarray, **options: Any) -> bytes:
    return saved(Image.fromarray(pixels), "JPEG", **options)


def saved(picture: Image.Image, form: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, form, **options)
    return stream.getvalue()


DAMAGED = [png(LARGER), jpeg(LARGER), jpeg(LARGER, progressive=True), jpeg(EYE)]
