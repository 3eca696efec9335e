"""Small recipes made smaller still: learnt by heart within seconds, and told to the laws."""

import random
from collections.abc import Sequence

import torch

from seqloom.generation.contract import Item
from seqloom.generation.search import write
from seqloom.generation.settings import GenerationSettings
from seqloom.jobs.answering.scorer import scorer_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.shipped import find
from seqloom.models.build import Model, build_model
from seqloom.models.cost import model_cost
from seqloom.models.sizes import Sizes
from seqloom.settings import load
from seqloom.tasks import Goals, Task
from seqloom.tasks.language import LanguageTask
from seqloom.tasks.music import MusicTask
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN
from seqloom.training.optimisers import build_optimiser, clip
from tests.laws import laws
from tests.laws.cases import stirred
from tests.laws.subject import Form, Subject, model_subject
from tests.tasks.small import encoded, task_of


def recipe(name: str, *changes: str) -> Recipe:
    return load(find(name), Recipe, changes)


def parameters(name: str) -> int:
    """With the published vocabulary."""
    made = recipe(name)
    source = made.target.source_size
    assert source is not None
    return model_cost(made.model, Sizes(source, made.target.target_size or source)).parameters


def pairs(count: int = 24) -> tuple[list[str], list[str]]:
    """Short made words, and the same in capitals, backwards."""
    draw = random.Random(5)
    words = sorted({"".join(draw.choices("abcdefgh", k=draw.randint(3, 7))) for _ in range(count)})
    return words, [word[::-1].upper() for word in words]


def lines(count: int = 16) -> list[str]:
    """Each begins with a word of its own."""
    draw = random.Random(5)
    return [" ".join([f"line{number}", *(draw.choice("abcdefgh") for _ in range(6))]) for number in range(count)]


def learnt(made: Recipe, task: Task, columns: Sequence[Sequence[str]], steps: int, seed: int = 1) -> Model:
    """Trained on all examples at once by the recipe's optimiser, whose rate falls in the second half; in eval mode."""
    torch.manual_seed(seed)
    model = build_model(made.model, task.sizes()).train()
    optimiser = build_optimiser(made.training.optimiser, model)
    examples = encoded(task, *columns)
    batch = task.batch(task.parts(examples, None) if isinstance(task, MusicTask) else examples)
    for step in range(steps):
        model.zero_grad()
        (task.loss(model, batch, Goals()) / batch.count).backward()
        clip(model, made.training.clip or None)
        optimiser.step(min(1.0, (step + 1) / 20, 2 - 2 * step / steps))
    return model.eval()


def exact(made: Recipe, steps: int) -> float:
    """The share of a tiny set that the model, having learnt it, writes without a fault; greedily, token by token."""
    if made.task.kind == "translate":
        sources, targets = pairs()
        task: Task = task_of(made.task, "pairs", made.text, sources, targets)
        assert isinstance(task, TranslateTask)
        model = learnt(made, task, [sources, targets], steps)
        read, wanted = task.codecs.source.encode(sources), task.target.encode(targets)
    else:
        texts = lines()
        task = task_of(made.task, "text", made.text, texts)
        assert isinstance(task, LanguageTask)
        model = learnt(made, task, [texts], steps)
        whole = task.vocabulary.encode(texts)
        read, wanted = [[BEGIN, ids[0]] for ids in whole], [ids[1:] for ids in whole]
    items = [Item(ids, number, longest=30) for number, ids in enumerate(read)]
    written = dict(write(scorer_of(task, [model]), iter(items), GenerationSettings(beam=1)))
    return sum(written[number][0].tokens == tuple(ids) for number, ids in enumerate(wanted)) / len(wanted)


def _subject(made: Recipe, size: int, seed: int) -> Subject:
    torch.manual_seed(seed)
    return model_subject(stirred(build_model(made.model, Sizes(size, size)), 0.05), 1, torch.float64)


def obeys_the_laws(made: Recipe, size: int = 11) -> None:
    """The future, padding, parts, the order of rows, who joins, forks, both paths, gradients, files: of the model."""
    subject = _subject(made, size, 1)
    rows = subject.rows([7, 1, 12], [4, 9, 2])
    laws.loaded_is_the_same(subject, _subject(made, size, 2), rows)
    laws.gradients_are_right(subject, subject.rows([4, 1, 3], [3, 5, 1]))
    for form in (Form("packed"), Form("right", 2), Form("left", 1)):
        laws.padding_changes_nothing(subject, rows, form)
        laws.paths_agree(subject, rows, form)
    if subject.causal:
        laws.future_changes_nothing(subject, rows, Form("packed"), [3, 0, 5])
        cuts = [[0, 4, 7], [0, 1, 1], [0, 5, 12]]
        laws.parts_are_the_whole(subject, rows, cuts, [Form("packed"), Form("right", 1)], None)
        laws.reordering_commutes(subject, rows, subject.rows([2, 2, 2], [4, 9, 2]), [2, 0, 0, 1])
        laws.rows_join_later(subject, subject.rows([2, 7, 5, 2], [4, 9, 2, 1]), [[0, 5], [3, 0]], None)
        laws.hypotheses_fork(subject, rows, 3, random.Random(1))
