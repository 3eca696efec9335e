"""What a run is allowed to do, but may not be meant: told before it trains."""

from collections.abc import Iterator
from itertools import islice
from typing import Literal

from seqloom.data.check.cut_text import cut_already
from seqloom.data.check.whereabouts import as_texts
from seqloom.data.reading import fingerprint, read
from seqloom.data.reading.format_choice import format_of
from seqloom.data.settings import DataSettings
from seqloom.evaluation.bleu import Bleu
from seqloom.evaluation.scripts import told
from seqloom.jobs.corpora.build import Corpora, first_example, name_of, shown
from seqloom.jobs.learning.scores import metrics_of
from seqloom.jobs.learning.vocabulary_doubts import vocabulary_doubts
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.layers.attention import Attention
from seqloom.layers.positions import NoPositions
from seqloom.settings.words import counted
from seqloom.tasks import Music, Nodes, task_class
from seqloom.tasks.forecast import ForecastTask
from seqloom.tasks.masked import MaskedTask
from seqloom.tasks.nodes import NodesTask
from seqloom.tasks.sentence_pairs import several

FEW = 20  # examples; of fewer, one is five points of accuracy
MORE = 0.2  # of the examples, where a twentieth is so few


def doubts(recipe: Recipe, data: Corpora, begun: bool) -> Iterator[str]:
    """What is allowed, but may not be meant. begun: from another run."""
    if not isinstance(data.task, NodesTask | ForecastTask):
        yield shown(*first_example(data))
    yield from _learnt(recipe.data)
    yield from _cut(recipe)
    yield from _few(recipe, data)
    if not begun:  # else the vocabulary is that run's
        yield from vocabulary_doubts(recipe, data)
    if recipe.training.freeze and not begun:
        yield "training.freeze: what is frozen stays as it was drawn by chance; begin from a run: --from RUN"
    if recipe.training.reward is not None and not begun:
        yield "training.reward: of a model that has learnt nothing yet no answer earns much; begin from one: --from RUN"
    if recipe.training.reward is not None and recipe.training.best == "loss":
        yield (
            "training.best = 'loss': the likelihood chooses the model, and is not what is trained for; "
            f"--set training.best={recipe.training.reward.kind}"
        )
    yield from _single_documents(data)
    for metric in metrics_of(data.task, data.valid):
        remark = told(metric.tokenize) if isinstance(metric, Bleu) else None
        if remark is not None:
            yield remark
    if not isinstance(data.task, NodesTask):
        yield from _orderless(recipe)


def _learnt(data: DataSettings) -> Iterator[str]:
    """Files of validation and test that are those of training, whatever their names; of the test also of validation."""
    if not (data.valid or data.test):
        return
    learnt, chose = (set(map(fingerprint, corpora)) for corpora in (data.corpora, data.valid))
    for corpus in data.valid:
        if fingerprint(corpus) in learnt:
            yield (
                f"{name_of(corpus)}: is trained on too, so that validation chooses what was learnt by heart; name "
                "another --valid, or none: then a part is held out"
            )
    for corpus in data.test:
        if fingerprint(corpus) in learnt:
            yield f"{name_of(corpus)}: is trained on too, so that the test says little of others; name another --test"
        elif fingerprint(corpus) in chose:
            why = "so that the test is of what chose the model"
            yield f"{name_of(corpus)}: is validated on too, {why}; name another --test"


def _cut(recipe: Recipe) -> Iterator[str]:
    """Text that comes in pieces of another tool."""
    shape = task_class(recipe.task).shape
    if shape not in ("pairs", "text", "tags", "classes") or isinstance(recipe.task, Music | Nodes):
        return
    corpus = recipe.data.corpora[0]
    for block in islice(read(corpus, shape, "skip"), 1):
        for side, column in enumerate(block.columns if shape == "pairs" else block.columns[:1]):
            whole_lines = format_of(corpus, shape) in ("aligned", "text")
            told = cut_already(as_texts(column), whole_lines)
            if told is not None:
                yield f"{corpus.files[side] if whole_lines else name_of(corpus)}: {told}"


def _orderless(recipe: Recipe) -> Iterator[str]:
    sides: tuple[Literal["encoder", "decoder"], ...] = ("encoder", "decoder")
    for name in sides:
        stack = recipe.model.side(name)
        orderless = all(isinstance(mixer, Attention) and mixer.relative is None for mixer in stack.mixers())
        if name in recipe.model.family and orderless and isinstance(stack.positions, NoPositions) and stack.depth:
            yield (
                f"the {name} knows no positions, so that it sees a set, not a sequence: "
                "--set model.positions.kind=sinusoidal, or mixer.relative"
            )


def _few(recipe: Recipe, data: Corpora) -> Iterator[str]:
    """So few examples to validate on that their score is a matter of luck."""
    if data.task.shape in ("text", "timeline"):
        return
    nodes = isinstance(data.task, NodesTask)
    held = len(data.task.graph.numbers_of("valid")) if isinstance(data.task, NodesTask) else sum(map(len, data.valid))
    if held < FEW:
        given = "name them in a column split" if nodes else "--valid FILE"
        more = "" if recipe.data.valid else f": {given}, or --set data.held_out={MORE:g}"
        what = counted(held, "node" if nodes else "example")
        yield f"{what} to validate on: a score of so few says little; give more{more}"


def _single_documents(data: Corpora) -> Iterator[str]:
    """Where segments that do not follow should come from other documents, and there are none."""
    if not (isinstance(data.task, MaskedTask) and data.task.settings.follows):
        return
    for name, part in zip(data.files, data.train, strict=True):
        chunks = (part.cache.read([chunk])[0].columns["target"] for chunk in range(len(part.cache.rows)))
        if not several(chunks):
            yield (
                f"{name}: no empty line stands between its sentences, so that it is one document, and what does not "
                "follow comes from elsewhere in it; end each document with an empty line"
            )
