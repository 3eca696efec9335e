"""A run folder, opened for use: its recipe, its vocabulary, its weights; without the data it learnt from."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from seqloom.jobs.deciding.decide import device_of
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models import build_model
from seqloom.models.build import Model as Network
from seqloom.models.laid_out import lay_out
from seqloom.settings import UserError, load
from seqloom.settings.words import nearest
from seqloom.store import RunFolder, load_weights, read_tensors, refuse_no_numbers
from seqloom.store.atomic import readable
from seqloom.tasks import Codecs, Task, build_task, task_class
from seqloom.text import Labels

_ANEW = "put it back as it was saved, or train anew with --force"
IN_RUN = 2  # folders above a file that are looked at: runs/x of runs/x/vocabulary/source.json


@dataclass(frozen=True)
class Opened:
    """text: of the recipe, to change a setting in it with messages that name its lines."""

    run: RunFolder
    text: str
    recipe: Recipe
    task: Task
    network: Network
    parameters: int
    """As they were trained: what is laid out for writing may hold a shared one twice."""
    device: torch.device
    training: bool = False
    """Somebody trains it at the moment: the model is the best so far."""


def open_run(path: Path, device: str = "auto") -> Opened:
    """All files are looked at: what is missing or damaged raises a UserError that names it."""
    run = RunFolder(path)
    training = run.busy()  # first: a run that ends meanwhile has a model
    with readable(path):
        _refuse_other_folders(run, training)
        recipe = load(run.recipe, Recipe)
        text = run.recipe.read_text(encoding="utf-8-sig")
        task = build_task(recipe.task, _codecs(run, recipe), recipe.model.family)
    place = device_of(device, "--device")
    network = build_model(recipe.model, task.sizes())
    tensors = read_tensors(run.model)
    try:
        load_weights(network, tensors)
    except ValueError as error:
        raise UserError(f"{run.model}: does not belong to {run.recipe.name} beside it ({error}); {_ANEW}") from None
    refuse_no_numbers(run.model, tensors)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    network = network.to(place).eval()
    if place.type == "cpu" and torch.backends.mkl.is_available():
        lay_out(network)
    return Opened(run, text, recipe, task, network, parameters, place, training)


def still_training(opened: Iterable[Opened]) -> Iterator[str]:
    """What whoever asks them should know."""
    return (f"{one.run.path}: still training: the best model so far" for one in opened if one.training)


def _near(path: Path) -> Path | None:
    """The run that was probably meant, beside it or where runs are put."""
    for folder in (path.parent, path.parent / "runs"):
        runs = [one.name for one in folder.iterdir() if RunFolder(one).recipe.exists()] if folder.is_dir() else []
        near = nearest(path.name, runs)
        if near is not None:
            return folder / near
    return None


def _refuse_other_folders(run: RunFolder, training: bool) -> None:
    path = run.path
    if path.is_file():
        raise UserError(f"{path}: is a file; name the folder of a run{_meant(path)}")
    if not path.is_dir():
        near = _near(path)
        fix = f"did you mean {near}?" if near is not None else "`seqloom train` makes one"
        raise UserError(f"{path}: there is no such run; {fix}")
    if training and not (run.recipe.exists() and run.vocabulary.is_dir() and run.model.exists()):
        raise UserError(f"{path}: is still training, and has no model before its first validation; ask again later")
    if not run.recipe.exists() and not run.model.exists():
        raise UserError(f"{path}: holds no run (no {run.recipe.name}); name a folder that `seqloom train` made")
    if not run.recipe.exists():
        raise UserError(f"{run.recipe}: no such file; {_ANEW}")
    if not run.vocabulary.is_dir():
        raise UserError(f"{run.vocabulary}: no such folder; {_ANEW}")
    if not run.model.exists() and not run.card.exists():
        raise UserError(
            f"{run.model}: no such file: the run was stopped before its first validation; "
            "the command that began it goes on with it"
        )


def _meant(file: Path) -> str:
    """The run that a file belongs to: it lies in it, or is called like it."""
    called = (Path("runs") / name for name in (file.stem, file.name.partition(".")[0]) if name)
    for folder in (*list(file.parents)[:IN_RUN], *called):
        run = RunFolder(folder)
        if run.recipe.exists() and run.model.exists():
            return f": {folder}"
    return ", as `seqloom train` leaves it"


def _codecs(run: RunFolder, recipe: Recipe) -> Codecs:
    codecs = Codecs.load(run.vocabulary)
    labelled = task_class(recipe.task).shape in ("tags", "classes", "series")
    if isinstance(codecs.target, Labels) is not labelled:
        raise UserError(f"{run.vocabulary}: is not of a run that does {recipe.task.kind}; {_ANEW}")
    return codecs
