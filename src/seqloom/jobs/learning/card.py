"""card.md: what a model is, what it learned from, how good it is and what it cost."""

import platform
from collections.abc import Iterator, Mapping, Sequence

import torch

from seqloom.jobs.corpora.build import Corpora
from seqloom.jobs.corpora.series import frame_words
from seqloom.jobs.learning.scores import metrics_of, signature
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.jobs.recipes.versions import versions
from seqloom.models.build import Model
from seqloom.settings.words import counted
from seqloom.store import RunFolder
from seqloom.tasks.forecast import ForecastTask
from seqloom.training.figures import duration, memory
from seqloom.training.place import Place


def card(
    run: RunFolder,
    recipe: Recipe,
    data: Corpora,
    model: Model,
    place: Place,
    scores: Mapping[str, float],
    test: Mapping[str, float],
    device: torch.device,
    begun: RunFolder | None = None,
    taken: Sequence[str] = (),
) -> str:
    """begun: the run that it began from. taken: a table of what it took over."""
    rows = [
        *_what(recipe, data, model, begun),
        *_cost(place),
        ("device", device_words(device)),
        ("versions", versions()),
    ]
    lines = [
        f"# {run.path.name}",
        "",
        "| what | |",
        "| --- | --- |",
        *(f"| {what} | {value} |" for what, value in rows),
    ]
    lines += _scores("Validation, of the best model", scores) + _scores("Test", test)
    how = signature(metrics_of(data.task, data.valid, recipe.training), recipe.training.answered)
    if isinstance(data.task, ForecastTask):
        how = "On z-scores of the training part, over all windows. `forecast.svg` shows the last one."
    lines += ["", how] if how else []
    lines += ["", "## What it began with", "", *taken] if taken else []
    lines += ["", *(f"- {note}" for note in data.notes)] if data.notes else []
    lines += ["", "The settings are in `recipe.toml`, the curves in `curves.svg`, every step in `metrics.jsonl`.", ""]
    return "\n".join(lines)


def _what(recipe: Recipe, data: Corpora, model: Model, begun: RunFolder | None) -> Iterator[tuple[str, str]]:
    yield "task", recipe.task.kind
    held = sum(map(len, data.valid))
    what = "window" if isinstance(data.task, ForecastTask) else "example"
    yield "data", f"{_files(data)}: {counted(data.examples, what)}; {held:,} for validation"
    if begun is not None:
        yield "began from", str(begun.path)
    if isinstance(data.task, ForecastTask):
        yield "series", frame_words(data.task)
    else:
        yield "text", _text(recipe)
    yield "model", f"{recipe.model.family}, {recipe.model.width} wide, {recipe.model.depth} deep"
    yield "parameters", f"{sum(parameter.numel() for parameter in model.parameters()):,}"


def _cost(place: Place) -> Iterator[tuple[str, str]]:
    yield "steps", f"{place.step:,} ({place.ended}); the best after {place.best_step:,}"
    yield "tokens trained on", f"{place.tokens:,}"
    yield "training FLOPs", f"{place.flops:.2e}"
    yield "time", duration(place.seconds)
    yield "memory", memory(place.memory)


def _files(data: Corpora) -> str:
    """With how often an epoch sees each corpus, where that is not once."""
    weights = [part.weight for part in data.train]
    return ", ".join(
        f"{file} (× {weight:g})" if weight != 1 else file for file, weight in zip(data.files, weights, strict=True)
    )


def _text(recipe: Recipe) -> str:
    source = recipe.text.source
    form = source.normalise
    return f"{source.kind}; Unicode {form.form}" + ("; lower case" if form.lowercase else "")


def _scores(title: str, scores: Mapping[str, float]) -> list[str]:
    if not scores:
        return []
    return ["", f"## {title}", "", "| score | |", "| --- | --- |", *(f"| {n} | {v:.4g} |" for n, v in scores.items())]


def device_words(device: torch.device, threads: int | None = None) -> str:
    """threads: that something was done with; None: as many as torch has now."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type}, {platform.machine()}, {torch.get_num_threads() if threads is None else threads} thread(s)"
