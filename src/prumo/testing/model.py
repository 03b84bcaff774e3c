"""The contracts of the entry points in `prumo.tasks` and `prumo.runtimes`."""

from __future__ import annotations

import json
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from prumo.errors import PrumoError
from prumo.report.language import language
from prumo.testing.require import derives_from, modules_loaded_by, refusal, require

TASK_BASE = "prumo_serve.task.Task"
RUNTIME_BASE = "prumo_serve.runtimes.Runtime"
PAGE_TEXTS = ("title", "caution", "worklist")
LANGUAGES = ("en", "pt-BR")
THREADS = 4
RESOURCES = SimpleNamespace(threads=1, callers=THREADS, may_spin=False)
TOLERANCE = 1e-4


class TaskContract:
    """A task: preprocessing, what a row of scores means, how the answer is shown.

    class TestMine(TaskContract):
        task = my_package.ripeness.TASK
        scores = (0.1, 0.7, 0.2)

        def manifest(self):
            return read_manifest(Path("package"))
    """

    task: ClassVar[Any]
    """What the entry point names."""
    scores: ClassVar[tuple[float, ...]]
    """A row of a network's output that the manifest allows."""

    def manifest(self) -> Any:  # noqa: ANN401 (a Manifest: products are not imported here)
        """The manifest of a model with this task."""
        raise NotImplementedError

    def image(self) -> np.ndarray:
        """An image that the task can judge, as (height, width, RGB) from 0 to 255."""
        return np.random.default_rng(0).integers(0, 256, (96, 128, 3), np.uint8)

    def test_it_is_a_task(self) -> None:
        """What `prumo model` asks of it."""
        require(
            derives_from(type(self.task), TASK_BASE),
            f"the entry point names an instance of a subclass of {TASK_BASE}, not {self.task!r}",
        )
        require(self.task.summary.strip(), "`summary` says what a model answers")

    def test_its_manifest_is_sound(self) -> None:
        """A manifest that the task itself refuses could never be packaged."""
        manifest = self.manifest()
        self.task.check(manifest)
        kinds = self.task.preprocessing_settings()
        require(
            manifest.input.preprocessing.kind in kinds,
            f"the manifest's preprocessing is one of {sorted(kinds)}",
        )
        require(
            self.task.preprocessing_summary(manifest.input).strip(),
            "`preprocessing_summary` says what becomes of an image",
        )

    def test_images_are_prepared_the_same_each_time(self) -> None:
        """Also from several threads at once."""
        preprocessing = self.task.preprocessing(self.manifest().input)
        first = preprocessing.prepared(self.image())
        require(first.pixels is not None, "the sample image can be judged; override `image`")
        with ThreadPoolExecutor(THREADS) as pool:
            others = list(pool.map(preprocessing.prepared, [self.image()] * THREADS))
        require(
            all(np.array_equal(first.pixels, other.pixels) for other in others),
            "the same image gives the same pixels, also from several threads at once",
        )

    def test_an_answer_is_one_of_its_labels(self) -> None:
        """Probabilities belong to labels, and the answer is among them."""
        answer = self._answer()
        require(answer.label in answer.labels, f"the answer is one of the labels: {answer.label}")
        require(
            len(answer.probabilities) == len(answer.labels),
            "a judged image has one probability for each label",
        )
        require(
            all(0 <= each <= 1 for each in answer.probabilities),
            f"probabilities are from 0 to 1: {answer.probabilities}",
        )

    def test_an_image_that_was_not_judged_has_no_label(self) -> None:
        """Where the preprocessing gave no pixels, there are no scores."""
        answer = self.task.answer(self.manifest(), None, self._prepared())
        require(answer.label is None, "an answer without scores has no label")
        require(not answer.probabilities, "an answer without scores has no probabilities")
        self._check_document(answer)

    def test_its_document_is_what_its_model_says(self) -> None:
        """The OpenAPI document of the server is made from `answer_model`."""
        self._check_document(self._answer())

    def test_programs_read_the_same_in_every_language(self) -> None:
        """Only texts beside the values are translated."""
        answer = self._answer()
        english, other = (self.task.document(answer, language(tag)) for tag in LANGUAGES)
        require(english.keys() == other.keys(), "a document has the same keys in every language")
        changed = [
            name
            for name in english
            if not isinstance(english[name], str)
            and english[name] != other[name]
            and not isinstance(english[name], (dict, list))
        ]
        require(not changed, f"values for programs do not depend on the language: {changed}")

    def test_it_has_every_output_that_it_lists(self) -> None:
        """The Open Inference Protocol gives `outputs` beside probabilities and label."""
        answer = self._answer()
        for name in self.task.outputs:
            value = self.task.output_value(name, answer)
            require(
                value is None or isinstance(value, (float, int, str, bool)),
                f"the output '{name}' is a plain value, not {value!r}",
            )

    def test_its_part_of_the_page_is_whole(self) -> None:
        """People drop images onto the page and read the answers."""
        page = self.task.page(self.manifest())
        missing = [name for name in PAGE_TEXTS if name not in page.texts]
        require(not missing, f"the page has the texts {', '.join(PAGE_TEXTS)}; missing: {missing}")
        require("task" in page.script, "the page's script defines the object `task`")

    def _prepared(self) -> Any:  # noqa: ANN401 (a PreparedImage, as above)
        return self.task.preprocessing(self.manifest().input).prepared(self.image())

    def _answer(self) -> Any:  # noqa: ANN401 (an Answer, as above)
        scores = np.array(self.scores, np.float32)
        return self.task.answer(self.manifest(), scores, self._prepared())

    def _check_document(self, answer: Any) -> None:  # noqa: ANN401 (an Answer, as above)
        for tag in LANGUAGES:
            document = self.task.document(answer, language(tag))
            try:
                json.dumps(document, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise AssertionError(f"`document` is plain data for JSON: {error}") from error
            self.task.answer_model.model_validate(document)


class RuntimeContract:
    """A runtime: loads a network's file and computes its outputs.

    class TestMine(RuntimeContract):
        runtime = my_package.runtime.RUNTIME
        batch = np.zeros((3, 4), np.float32)
        engine = "my_engine"

        def network_file(self):
            return Path("network.mine")
    """

    runtime: ClassVar[Any]
    """What the entry point names."""
    batch: ClassVar[np.ndarray]
    """Several different inputs for the network."""
    engine: ClassVar[str] = ""
    """The library that computes, which must not be imported before `load`."""

    def network_file(self) -> Path:
        """A network of this runtime."""
        raise NotImplementedError

    def test_it_is_a_runtime(self) -> None:
        """What `prumo model package` and `prumo serve` ask of it."""
        require(
            derives_from(type(self.runtime), RUNTIME_BASE),
            f"the entry point names an instance of a subclass of {RUNTIME_BASE}",
        )
        require(
            isinstance(self.runtime.endings, tuple),
            "`endings` has those of its files; it is empty for folders",
        )

    def test_it_is_imported_quickly(self) -> None:
        """The command line loads it to know its formats."""
        module = type(self.runtime).__module__
        if self.engine:
            loaded = modules_loaded_by(module)
            require(
                self.engine not in loaded,
                f"importing {module} does not import {self.engine}; `load` does",
            )

    def test_a_file_of_another_kind_is_refused(self) -> None:
        """A damaged network is an error for people."""
        ending = (*self.runtime.endings, "")[0]
        with tempfile.TemporaryDirectory(prefix="prumo-contract-") as folder:
            file = Path(folder) / f"network{ending}"
            file.write_bytes(b"no network")
            with refusal(PrumoError, contract="a file that is no network is an InputError"):
                self.runtime.load(file, RESOURCES)

    def test_it_names_inputs_and_outputs(self) -> None:
        """The manifest refers to them."""
        with self._loaded() as network:
            require(network.is_ready, "a network is ready once it is loaded")
            require(network.input_names, "`input_names` has the names of its inputs")
            require(network.output_names, "`output_names` has the names of its outputs")

    def test_rows_do_not_depend_on_their_batch(self) -> None:
        """A batch of any size goes, and each row is answered for itself."""
        with self._loaded() as network:
            outputs = network.output_names
            together = network.run(self.batch, outputs)
            require(set(together) == set(outputs), "`run` gives the outputs that were asked for")
            for name, values in together.items():
                require(
                    len(values) == len(self.batch),
                    f"the first axis of the output '{name}' is that of the batch",
                )
            for place in range(len(self.batch)):
                alone = network.run(self.batch[place : place + 1], outputs)
                require(
                    all(
                        np.allclose(alone[name][0], together[name][place], atol=TOLERANCE)
                        for name in outputs
                    ),
                    "a row has the same outputs alone and in a batch",
                )

    def test_several_threads_may_ask_at_once(self) -> None:
        """The server does."""
        with self._loaded() as network:
            output = network.output_names[0]
            expected = network.run(self.batch, [output])[output]
            with ThreadPoolExecutor(THREADS) as pool:
                answers = pool.map(lambda _: network.run(self.batch, [output]), range(2 * THREADS))
            require(
                all(np.allclose(each[output], expected, atol=TOLERANCE) for each in answers),
                "several threads that ask at once all get the right outputs",
            )

    def test_a_closed_network_is_not_ready(self) -> None:
        """The server stops asking it."""
        with self._loaded() as network:
            pass
        require(not network.is_ready, "a network that was closed is not ready")

    def _loaded(self) -> closing[Any]:
        return closing(self.runtime.load(self.network_file(), RESOURCES))
