"""Answers drawn from a model while it learns, by the one search that writes everywhere; and what they are drawn for."""

from collections.abc import Sequence

from seqloom.data.cache import Examples
from seqloom.generation import GenerationSettings, Item, write
from seqloom.generation.sampling import Sampling
from seqloom.jobs.answering.scorer import scorer_of
from seqloom.jobs.answering.writing import room
from seqloom.models.build import Model
from seqloom.tasks import Task
from seqloom.tasks.translate import TranslateTask
from seqloom.training.objective import Objective
from seqloom.training.reward import Draw, Drawn, ExpectedReward, Reward

# a longer one is cut: not even half of it could be right, and the rest only takes time
TIMES, MORE = 2, 10


def objective_of(reward: Reward | None, task: Task) -> Objective | None:
    """None: the task's own loss."""
    if reward is None:
        return None
    assert isinstance(task, TranslateTask)
    return ExpectedReward(reward, task, drawing(task))


def drawing(task: TranslateTask) -> Draw:
    def draw(model: Model, examples: Examples, samples: int, seed: int) -> list[list[Drawn]]:
        """What is drawn to an example hangs on the seed and where it stood in the files, not on its neighbours."""
        settings = GenerationSettings(sample=Sampling(), n_best=samples, seed=seed)
        source, target = examples.columns["source"], examples.columns["target"]
        most = room([model], "decoder") - 1
        numbers = _numbers(examples)
        first = {number: row for row, number in reversed(list(enumerate(numbers)))}
        items = [
            Item(
                source[row].tolist(),
                number,
                min(TIMES * len(target[row]) + MORE, most - len(source[row]) if task.joined else most),
            )
            for number, row in first.items()
        ]
        longest = {item.number: item.longest for item in items}
        drawn = {
            # whether an end mark would follow the last token that is allowed earns nothing: it is left out of both
            number: [Drawn(one.tokens, one.ended and len(one.tokens) < longest[number]) for one in found]
            for number, found in write(scorer_of(task, [model], marks=True), items, settings)
        }
        return [drawn[number] for number in numbers]

    return draw


def _numbers(examples: Examples) -> Sequence[int]:
    """One for each place in the files; an example that is twice in a batch has the same twice."""
    return [
        (corpus << 40) + line for corpus, line in zip(examples.corpus_B.tolist(), examples.line_B.tolist(), strict=True)
    ]
