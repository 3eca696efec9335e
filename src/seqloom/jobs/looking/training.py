"""What a run keeps for the studio while it trains: inputs to try, and the attention of one sentence at each validation.

Looking takes no chance and changes no weight: a run that is looked at has the bits of one that is not.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from seqloom.data.cache import Examples
from seqloom.data.readings import Readings
from seqloom.data.series.windows import Windows
from seqloom.inspect.flow import draw
from seqloom.jobs.answering.filling import MARK
from seqloom.jobs.corpora.build import Corpora
from seqloom.jobs.look import Look, LookRequest
from seqloom.jobs.looking.documents import LayerDocument, to_json
from seqloom.jobs.model import Model
from seqloom.jobs.opened import Opened
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models.build import Model as Network
from seqloom.settings import FailedError
from seqloom.store import RunFolder
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.nodes import NodesTask
from seqloom.text import Labels, Vocabulary

EXAMPLES, SERIES = 6, 3
NUMBERS = 4096  # of a series that is kept as an example
SEARCHED = 1000  # validation examples among which the sentence is chosen
LENGTH, LONGEST = 10, 40  # tokens that it should have, and may have


@dataclass(frozen=True)
class Sentence:
    """target: None: there is none to force, as it is read only."""

    source: str
    target: str | None


class TrainingLooks:
    """Called by the loop at each validation."""

    def __init__(self, run: RunFolder, model: Model, sentence: Sentence, note: Callable[[str], None]) -> None:
        self.run, self.model, self.sentence, self.note = run, model, sentence, note
        self.failed = False

    def __call__(self, number: int, step: int) -> None:
        """A look that fails is not worth a run: it is said once, and there are no more."""
        if self.failed:
            return
        network = self.model.networks[0]
        was = network.training
        network.eval()
        try:
            layer = self.layer()
            self.run.looks.add(number, step, layer.weights)
        except FailedError:  # the disk is full: the run's own files will say so too
            raise
        except Exception as error:
            self.failed = True
            self.note(f"attention is not kept any more while it trains: {type(error).__name__}: {error}")
        finally:
            network.train(was)

    def layer(self) -> LayerDocument:
        """The last layer that looks at the source; where none does, the last that looks at its own sequence."""
        look = Look(self.model, LookRequest(self.sentence.source, self.sentence.target))
        layers = look.attention().layers
        return next((one for one in reversed(layers) if one.kind == "cross"), layers[-1])


def training_looks(
    run: RunFolder, recipe: Recipe, data: Corpora, network: Network, device: torch.device, note: Callable[[str], None]
) -> TrainingLooks | None:
    """None: the model attends to nothing, or there is no short text to look at. Inputs to try are kept all the same."""
    about: dict[str, Any] = {"examples": list(examples_of(data))}
    text, sentence, found = run.recipe.read_text(encoding="utf-8"), sentence_of(data), None
    if sentence is not None:
        was = network.training
        network.eval()
        try:
            looks = TrainingLooks(
                run, Model([Opened(run, text, recipe, data.task, network, 0, device)]), sentence, note
            )
            if attends(network):
                layer, found = looks.layer(), looks
                places = {"layer": layer.title, "rows": to_json(layer.rows), "columns": to_json(layer.columns)}
                about |= {"sentence": asdict(sentence), **places}
        except Exception as error:  # whatever it is, it is not worth a run
            note(f"attention is not kept while it trains: {type(error).__name__}: {error}")
        finally:
            network.train(was)
    run.looks.begin(about)
    return found


def attends(network: Network) -> bool:
    """Whether some layer weighs places."""
    return any(box.kind == "softmax" for box in draw(network).boxes)


def sentence_of(data: Corpora) -> Sentence | None:
    """The first validation example that is nearest to a good length; the same every time."""
    codecs = data.task.codecs
    if not isinstance(codecs.source, Vocabulary) or isinstance(data.task, NodesTask) or codecs.scales is not None:
        return None
    examples = _first(data, SEARCHED)
    if examples is None:
        return None
    columns = list(examples.columns.values())
    lengths = np.maximum.reduce([np.diff(column.starts) for column in columns])
    away = np.where((lengths > 1) & (lengths <= LONGEST), np.abs(lengths - LENGTH), 2 * LONGEST)
    row = int(away.argmin())
    if away[row] == 2 * LONGEST:
        return None
    if isinstance(data.task, LanguageTask):
        return Sentence("", _text(codecs.source, examples, "target", row).strip())
    source = _text(codecs.source, examples, "source" if "source" in examples.columns else "target", row)
    if isinstance(data.task, MaskedTask):
        return Sentence(_gap(source), None)
    target = codecs.target
    return Sentence(source, None if isinstance(target, Labels) else _text(target, examples, "target", row))


def examples_of(data: Corpora) -> Iterator[Any]:
    """A few inputs of the validation examples, as whoever asks the model would give them."""
    if isinstance(data.task, NodesTask):
        yield from data.task.graph.ids[:EXAMPLES]
    elif isinstance(data.task, ForecastTask):
        yield from _windows(data.task, data)
    elif (examples := _first(data, SEARCHED)) is not None:
        source = data.task.codecs.source
        each = _texts(data, source, examples) if isinstance(source, Vocabulary) else _series(source, examples)
        yield from {json.dumps(one): one for one in each}.values()


def _texts(data: Corpora, vocabulary: Vocabulary, examples: Examples) -> Iterator[str]:
    name = "source" if "source" in examples.columns else "target"
    rows = [row for row in range(len(examples)) if len(examples.columns[name][row]) > 1]
    for place in np.unique(np.linspace(0, len(rows) - 1, EXAMPLES).astype(int)).tolist() if rows else []:
        text = _text(vocabulary, examples, name, rows[place]).strip()
        if isinstance(data.task, LanguageTask):
            words = text.split()
            text = " ".join(words[: -(-len(words) // 2)])
        if text:
            yield _gap(text) if isinstance(data.task, MaskedTask) else text


def _series(readings: Readings, examples: Examples) -> Iterator[list[Any]]:
    """Of a picture, its lines of pixels."""
    for row in range(min(SERIES, len(examples))):
        x_TC = readings.decode(examples.columns["source"][row])
        if x_TC.size > NUMBERS:
            continue
        if readings.columns is not None and x_TC.ndim == 2:
            x_TC = x_TC.reshape(-1, readings.columns, *(() if x_TC.shape[1] == 1 else x_TC.shape[1:]))
        yield _rounded(x_TC)


def _windows(task: ForecastTask, data: Corpora) -> Iterator[dict[str, Any]]:
    """The last window of some series; of its horizon only what is known ahead."""
    windows, (L, H) = data.valid[0], (task.settings.look_back, task.settings.horizon)
    assert isinstance(windows, Windows)
    known, targets = bool(task.scales.columns.known), task.scales.targets
    for of in np.unique(windows.of_N)[:SERIES].tolist():
        series, start = windows.raw[of], int(windows.start_N[windows.of_N == of].max())
        part = slice(start - L, start + H if known else start)
        values_TC = series.values_TC[part].copy()
        values_TC[L:, :targets] = np.nan
        if values_TC.size <= NUMBERS:
            times = task.scales.style.write(series.times_T[part])
            yield {
                "values": _rounded(values_TC),
                "times": list(times),
                **({"series": series.name} if series.name else {}),
            }


def _rounded(x: np.ndarray) -> list[Any]:
    """As lists; what is missing is null."""
    if x.ndim > 1:
        return [_rounded(row) for row in x]
    return [None if np.isnan(value) else float(f"{value:.6g}") for value in x]


def _first(data: Corpora, most: int) -> Examples | None:
    cache = next((cache for cache in data.valid if len(cache)), None)
    if cache is None:
        return None
    first = cache.read([0])[0]
    return first.take(np.arange(min(most, len(first))))


def _text(vocabulary: Vocabulary, examples: Examples, name: str, row: int) -> str:
    ids = examples.columns[name][row].tolist()
    return vocabulary.decode([id for id in ids if 0 <= id < len(vocabulary)])  # no letters behind words


def _gap(text: str) -> str:
    """With a gap instead of the word in the middle."""
    words = text.split()
    words[len(words) // 2 : len(words) // 2 + 1] = [MARK]
    return " ".join(words)
