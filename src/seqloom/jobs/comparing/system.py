"""What is compared: recipes that are to be trained, and runs that are."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seqloom.data.check.series import contents
from seqloom.data.reading import Shape, fingerprint, read, size
from seqloom.data.settings import Corpus
from seqloom.jobs.corpora.build import fingerprints, name_of
from seqloom.jobs.deciding.asked import Columns, Command, asked, corpora_like
from seqloom.jobs.evaluating.runs import refuse_other_task
from seqloom.jobs.learning.request import compare as refuse_other_run
from seqloom.jobs.learning.request import data_of, request_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.shipped import find, names
from seqloom.jobs.train import asked_for
from seqloom.settings import SettingsError, UserError, load
from seqloom.store import RunFolder
from seqloom.tasks import Forecast, Nodes, task_class
from seqloom.training.place import Place

LARGE = 200_000_000  # bytes of training data, in which nobody looks for examples of the test


@dataclass(frozen=True)
class System:
    """command: how it is trained; None: it is a run already."""

    name: str
    run: Path
    recipe: Recipe
    command: Command | None


def systems_of(words: Sequence[str], command: Command, folder: Path) -> list[System]:
    """All that were named, each looked at before the first is trained. command: what holds for every training."""
    found, wrong = list[System](), list[UserError]()
    for word in words:
        try:
            found.append(_system(word, command, folder))
        except UserError as error:
            wrong.append(error)
    if len(wrong) > 1:  # what all have in common is told once
        raise UserError("\n".join(dict.fromkeys(line for error in wrong for line in str(error).splitlines())))
    if wrong:
        raise wrong[0]
    _refuse_alike(found, words)
    first = found[0]
    for other in found[1:]:
        refuse_other_task(other.name, other.recipe.task, first.name, first.recipe.task)
    return found


def is_run(word: str) -> bool:
    """A recipe's name means the recipe, unless a run lies under that name."""
    path = Path(word)
    return path.is_dir() and (RunFolder(path).exists() or word not in names())


def _system(word: str, command: Command, folder: Path) -> System:
    if not is_run(word):
        file = find(word)
        run = folder / file.stem
        its = replace(command, recipe=str(file), out=run)
        return System(file.stem, run, _wished(file.stem, its), its)
    run = Path(word)
    here = RunFolder(run)
    if not here.recipe.exists() or not here.model.exists():
        raise UserError(f"{run}: holds no run that is trained; name a recipe, or a folder that `seqloom train` made")
    if here.busy():
        raise UserError(f"{run}: is still training; wait for it, or stop it")
    return System(run.resolve().name, run, load(here.recipe, Recipe), None)


def is_trained(system: System) -> bool:
    """Whether nothing is left for it to learn: it is a run, or its run has ended for what is asked now."""
    if system.command is None:
        return True
    run = RunFolder(system.run)
    try:
        numbers = run.checkpoints.numbers()
        place = None if numbers is None else Place.of(numbers["place"])
    except (UserError, KeyError, TypeError):  # which will be told when it is to go on
        return False
    ended = place is not None and place.ended_for == list(asked_for(system.recipe.training))
    return ended and run.card.exists()


def _wished(name: str, command: Command) -> Recipe:
    """Its recipe as it will be trained. What is wrong with a change that holds for all is told with whose it is."""
    try:
        return asked(command).recipe
    except SettingsError as error:
        told = [f"{name}: {line}" if line.startswith("--set ") else line for line in str(error).splitlines()]
        raise SettingsError("\n".join(told)) from None


def _refuse_alike(found: Sequence[System], words: Sequence[str]) -> None:
    for number, system in enumerate(found):
        for before, other in zip(words[:number], found[:number], strict=True):
            if other.name == system.name:
                raise UserError(
                    f"{words[number]} and {before}: both would be called {system.name!r} in the table; name each once, "
                    "or rename one"
                )


def refuse_changed(systems: Sequence[System]) -> None:
    """A run of another recipe is not gone on with: told now, and not in a row of a table that had its scores."""
    for system in systems:
        run = RunFolder(system.run)
        if system.command is not None and run.exists():
            try:
                refuse_other_run(run, request_of(system.recipe, fingerprints(system.recipe.data)))
            except UserError as error:
                raise UserError(f"{error}\nunder another name the new recipe stands beside the others") from None


def refuse_known(systems: Sequence[System], test: Sequence[str], columns: Columns, what: str = "a test") -> None:
    """Whoever was trained on the test has nothing to show there."""
    for system in systems:
        learnt, _ = _seen(system)
        for corpus in _tests(test, system.recipe, columns):
            known = next((name for name, content in learnt.items() if content == fingerprint(corpus)), None)
            if known is not None:
                raise UserError(
                    f"{name_of(corpus)}: {system.name} is trained on it ({known}); {what} has to be what no system saw"
                )


def validated_on(systems: Sequence[System], test: Sequence[str], columns: Columns) -> Iterator[str]:
    """What should be known of files of the test that chose models, too."""
    chose: dict[str, list[str]] = {}
    for system in systems:
        _, validated = _seen(system)
        for corpus in _tests(test, system.recipe, columns):
            if fingerprint(corpus) in validated.values():
                chose.setdefault(name_of(corpus), []).append(system.name)
    for file, whose in chose.items():
        yield f"{file}: is validated on too, which chose the best model of {', '.join(whose)}; name another --test"


def _seen(system: System) -> tuple[dict[str, str], dict[str, str]]:
    """What is trained on and what is validated on, by name: the content."""
    data = system.recipe.data
    every = fingerprints(data) if system.command else data_of(RunFolder(system.run))
    train, valid = ({name_of(corpus) for corpus in corpora} for corpora in (data.corpora, data.valid))
    learnt = {name: content for name, content in every.items() if name in train or name not in valid}
    return learnt, {name: content for name, content in every.items() if name in valid}


def refuse_unreadable(systems: Sequence[System], test: Sequence[str], columns: Columns, skip: bool) -> None:
    """What is wrong with the test is told now, not when all have learnt."""
    recipe = systems[0].recipe
    shape = task_class(recipe.task).shape
    for corpus in _tests(test, recipe, columns) if shape != "timeline" else ():
        deque(read(corpus, shape, "skip" if skip else "stop"), maxlen=0)


def refuse_unreadable_data(systems: Sequence[System]) -> None:
    """What is wrong with the beginning of the data, such as a column that it does not have, is a mistake of all."""
    trained = next((system for system in systems if system.command is not None), None)
    if trained is None or isinstance(trained.recipe.task, Nodes | Forecast):
        return
    data, shape = trained.recipe.data, task_class(trained.recipe.task).shape
    for corpus in (*data.corpora, *data.valid):
        next(read(corpus, shape, data.bad), None)


def in_training(systems: Sequence[System], test: Sequence[str]) -> str | None:
    """What should be known of examples of the test that training has too; of texts and series lines mean nothing."""
    trained = next((system for system in systems if system.command is not None), None)
    shape = task_class(systems[0].recipe.task).shape
    if not test or trained is None or trained.command is None or shape in ("text", "timeline"):
        return None
    data = asked(replace(trained.command, test=tuple(test))).recipe.data
    if sum(map(size, data.corpora)) > LARGE:
        return None
    wanted = Counter(example for corpus in data.test for example in _examples(corpus, shape))
    seen = {example for corpus in data.corpora for example in _examples(corpus, shape) if example in wanted}
    found = sum(wanted[example] for example in seen)
    return f"{found:,} of {wanted.total():,} examples of the test stand in the training data too" if found else None


def _examples(corpus: Corpus, shape: Shape) -> Iterator[int]:
    """A hash each: the texts of a large corpus need not be kept."""
    for block in read(corpus, shape, "skip"):
        first, *others = block.columns
        first = contents(first) if shape == "series" else first  # as text, a long series has no middle
        examples = zip(first, *others, strict=True)
        # of lists as text; of what a large picture holds that would take long
        yield from (hash(example if shape == "series" else str(example)) for example in examples)


def tested_on(test: Sequence[str], columns: Columns, recipe: Recipe) -> list[str]:
    """What the test holds; nothing where it is held out of training."""
    return [fingerprint(corpus) for corpus in _tests(test, recipe, columns)] if test else []


def _tests(test: Sequence[str], recipe: Recipe, columns: Columns) -> tuple[Corpus, ...]:
    return corpora_like(test, recipe.data.corpora, columns, task_class(recipe.task).shape)
