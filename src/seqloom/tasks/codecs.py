"""What turns the two sides of an example into numbers: vocabularies, labels, scales of readings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from seqloom.data.graph.graph import Graph, has_graph
from seqloom.data.reading import Block, Shape
from seqloom.data.readings import Readings, ReadingsSettings
from seqloom.data.series_faults import fitting, usual_form
from seqloom.data.settings import Bad
from seqloom.settings import UserError
from seqloom.tasks.scales import Scales
from seqloom.text import Labels, PieceSettings, TextSettings, Vocabulary, Words, json_file

SCALES = "scales.json"

Read = Callable[[], Iterator[Block]]
"""The training examples from their beginning; may be asked for several times."""


@dataclass(frozen=True)
class Codecs:
    """The same object on both sides: one vocabulary is shared."""

    source: Vocabulary | Readings
    target: Vocabulary | Labels
    scales: Scales | None = None
    """Of series of numbers, where both vocabularies are empty."""
    graph: Graph | None = None
    """What a task of nodes is about."""

    @classmethod
    def of_series(cls, scales: Scales) -> "Codecs":
        nothing = Vocabulary.train(Words(), ["-"])
        return cls(nothing, nothing, scales)

    @property
    def vocabulary(self) -> Vocabulary:
        """Of a source that is text."""
        assert isinstance(self.source, Vocabulary)
        return self.source

    @property
    def fingerprint(self) -> str:
        if self.graph is not None:
            return f"{self.graph.fingerprint}-{self.target.fingerprint}"
        if self.scales is not None:
            return self.scales.fingerprint
        return f"{self.source.fingerprint}-{self.target.fingerprint}"

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if self.graph is not None:
            self.graph.save(folder)
        if self.scales is not None:
            json_file.write(folder / SCALES, self.scales.dumps())
            return
        self.source.save(folder / self._source_name())
        if self.target is not self.source:
            self.target.save(folder / ("labels.json" if isinstance(self.target, Labels) else "target.json"))

    def _source_name(self) -> str:
        if isinstance(self.source, Readings):
            return "readings.json"
        return "shared.json" if self.target is self.source else "source.json"

    @classmethod
    def load(cls, folder: Path) -> "Codecs":
        if (folder / SCALES).exists():
            return cls.of_series(_scales(folder / SCALES))
        if (folder / "shared.json").exists():
            shared = Vocabulary.load(folder / "shared.json")
            return cls(shared, shared)
        kept = folder / "readings.json"
        source = Readings.load(kept) if kept.exists() else Vocabulary.load(folder / "source.json")
        if (folder / "labels.json").exists():
            graph = Graph.load(folder) if has_graph(folder) else None
            return cls(source, Labels.load(folder / "labels.json"), graph=graph)
        return cls(source, Vocabulary.load(folder / "target.json"))


def _scales(file: Path) -> Scales:
    try:
        return Scales.loads(file.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: cannot be read ({error}); put it back as it was saved") from None


@dataclass(frozen=True)
class Known:
    """What another run knew already, of each side that begins from it; None: it is learnt."""

    source: Vocabulary | Readings | None = None
    target: Vocabulary | Labels | None = None
    scales: Scales | None = None

    @property
    def fingerprint(self) -> str:
        return "-".join("none" if side is None else side.fingerprint for side in (self.source, self.target))


NOTHING = Known()
READINGS = ReadingsSettings()


def learn(
    settings: TextSettings,
    shape: Shape,
    read: Read,
    more: str = "",
    known: Known = NOTHING,
    readings: ReadingsSettings = READINGS,
    bad: Bad = "stop",
) -> Codecs:
    """Vocabularies and labels of the training examples. more: a text whose pieces the source is to know too.

    known: vocabularies that are taken over, with `settings.extend` pieces of the examples besides.
    """

    def column(*numbers: int) -> Iterator[str]:
        texts = (text for block in read() for number in numbers for text in _texts(block, shape, number))
        return chain(texts, [more]) if more and 0 in numbers else texts

    def vocabulary(pieces: PieceSettings, given: Vocabulary | Labels | Readings | None, *numbers: int) -> Vocabulary:
        if not isinstance(given, Vocabulary):
            return Vocabulary.train(pieces, column(*numbers))
        return given if settings.extend is None else given.extended(column(*numbers), settings.extend)

    match shape:
        case "pairs" if settings.shared:
            shared = vocabulary(settings.source, known.source, 0, 1)
            return Codecs(shared, shared)
        case "pairs":
            target = settings.source if settings.target is None else settings.target
            return Codecs(vocabulary(settings.source, known.source, 0), vocabulary(target, known.target, 1))
        case "text":
            only = vocabulary(settings.source, known.source, 0)
            return Codecs(only, only)
        case "timeline":
            raise ValueError("a series has scales, and no words to learn")
        case "tags" | "classes":
            return Codecs(vocabulary(settings.source, known.source, 0), _labels(column(1), known.target))
        case "series":
            source = known.source if isinstance(known.source, Readings) else learn_readings(readings, read, bad)
            return Codecs(source, _labels(column(1), known.target))


def _labels(names: Iterator[str], known: Vocabulary | Labels | None) -> Labels:
    """Those of another run, if it has all of these; what it cannot say has to be learnt anew."""
    found = Labels.train(names)
    return known if isinstance(known, Labels) and set(found.names) <= set(known.names) else found


def learn_readings(settings: ReadingsSettings, read: Read, bad: Bad = "stop") -> Readings:
    """The scales of all series of one form; others stop it, or are left out."""
    first = next((block for block in read() if block.lines), None)
    if first is None:
        raise UserError("there are no readings to learn from; give examples that have some")
    form = usual_form(first, settings)
    series = (x for block in read() for x in fitting(block, form, bad).columns[0])
    return Readings.train(settings, series, form.names, form.columns)


def _texts(block: Block, shape: Shape, number: int) -> Iterator[str]:
    match shape, number:
        case "tags", 0:
            return (" ".join(words) for words in block.columns[0])
        case "tags", _:
            return (tag for tags in block.columns[1] for tag in tags)
        case "text", _:
            return (line + "\n" for line in block.columns[0])
        case _:
            return iter(block.columns[number])
