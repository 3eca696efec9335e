"""What was asked for, kept with the run: the same command goes on, another one is refused."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from seqloom.data.file_format import format_by_name
from seqloom.data.settings import Corpus
from seqloom.jobs.corpora.build import named
from seqloom.jobs.recipes import shipped
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.models.settings import ModelSettings
from seqloom.settings import UserError
from seqloom.settings.words import counted
from seqloom.store import RunFolder
from seqloom.store.atomic import write_text
from seqloom.tasks import TaskSettings

# what may change from one go to the next: how long, and how it is done
FREE = {
    ("training", "steps"),
    ("training", "epochs"),
    ("training", "minutes"),
    ("training", "flops"),
    ("training", "patience"),
    ("training", "save_every"),
    # what is advised when the loss is no number, or jumps
    ("training", "spike"),
    ("training", "clip"),
    ("training", "optimiser", "rate"),
    ("training", "optimiser", "others", "rate"),
    ("training", "device"),
    ("data", "workers"),
    ("data", "test"),
    ("source",),
}

SHOWN = 5  # settings that differ; another recipe has tens of them


_TASK: TypeAdapter[TaskSettings] = TypeAdapter(TaskSettings)


def request_of(
    recipe: Recipe, fingerprints: Mapping[str, str], start: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """fingerprints: file → what it held. start: the run whose weights it begins from, and what they were."""
    request = {"recipe": json.loads(recipe.model_dump_json()), "data": dict(fingerprints)}
    return request if start is None else request | {"start": dict(start)}


def remember(run: RunFolder, request: Mapping[str, Any]) -> None:
    write_text(run.request, json.dumps(request, indent=1) + "\n")


def data_of(run: RunFolder) -> dict[str, str]:
    """What a run learnt and was validated with: file → what it held; nothing, where that is not known."""
    try:
        return dict(json.loads(run.request.read_text(encoding="utf-8"))["data"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def compare(run: RunFolder, request: Mapping[str, Any]) -> None:
    """A UserError that names what differs from the run that is there.

    A file that holds the same is the same, wherever it lies and however its path is written.
    """
    try:
        before = json.loads(run.request.read_text(encoding="utf-8"))
        data = dict(before["data"])
        settings = _with_names(_with_defaults(before["recipe"]), data, request)
        start = dict(before.get("start") or {})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"{run.request}: cannot be read; --force starts the run anew") from None
    _refuse_other_start(run, start, request.get("start") or {})
    # what was published changes nothing in a training
    changed = [path for path in differences(settings, request["recipe"]) if path not in FREE and path[0] != "target"]
    if changed:
        shown = [f"  {'.'.join(path)}: {_at(before, path)} there, {_at(request, path)} now" for path in changed[:SHOWN]]
        more = [f"  and {counted(len(changed) - SHOWN, 'setting')} more"] if len(changed) > SHOWN else []
        what = f"holds a run {_with_what(before['recipe'].get('source'), request['recipe']['source'])}"
        anew = "name another --out, or start anew with --force"
        raise UserError("\n".join([f"{run.path}: {what}; {anew}", *shown, *more]))
    names = sorted(name for name in request["data"] if name in data and data[name] != request["data"][name])
    if names:
        raise UserError(
            f"{run.path}: its data changed since it began ({', '.join(names)}); "
            "name another --out, or start anew with --force"
        )


def _with_what(was: str | None, now: str) -> str:
    """What a run has that is not what was asked for. was, now: where the recipes say that they come from."""
    if (was or "") == now:
        return "with other settings"
    return "of another recipe" + (f" ({shipped.from_source(was) or was} there)" if was else "")


def _with_defaults(before: Mapping[str, Any]) -> dict[str, Any]:
    """A run of old knew nothing of settings that came later: it did without, which is what they are by default."""
    task = _TASK.validate_python({"kind": before["task"]["kind"]})
    filled = _filled(before, json.loads(Recipe.model_construct(task=task).model_dump_json(exclude={"model"})))
    return {**filled, "model": _whole_model(before["model"])}


def _whole_model(before: Any) -> Any:
    """Its parts are of many kinds, each with defaults of its own."""
    try:
        return json.loads(ModelSettings.model_validate(before).model_dump_json())
    except ValidationError:
        return before


def _filled(values: Any, defaults: Any) -> Any:
    if not (isinstance(values, Mapping) and isinstance(defaults, Mapping)) or values.get("kind") != defaults.get(
        "kind"
    ):
        return values
    return {**defaults, **{name: _filled(value, defaults.get(name)) for name, value in values.items()}}


def _refuse_other_start(run: RunFolder, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    if was.get("weights") == now.get("weights"):
        return
    anew = "name another --out, or start anew with --force"
    if not was:
        raise UserError(f"{run.path}: holds a run that began from no other; leave --from out, {anew}")
    if not now:
        raise UserError(f"{run.path}: holds a run that began from {was['run']}: --from {was['run']}; or {anew}")
    raise UserError(f"{run.path}: holds a run that began from other weights ({was['run']}, as it was then); {anew}")


def _with_names(before: Mapping[str, Any], data: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were, with the names that files of the same content have now."""
    was, now = dict(before["data"]), request["recipe"]["data"]
    for part in ("corpora", "valid"):
        if len(was[part]) == len(now[part]):
            was[part] = [
                old | {"files": new["files"]} if _same(old, data, new, request["data"]) else old
                for old, new in zip(was[part], now[part], strict=True)
            ]
    return {**before, "data": was}


def _same(old: Any, before: Mapping[str, str], new: Any, now: Mapping[str, str]) -> bool:
    """Content, and the format that the names tell."""
    one, other = before.get(named(old["files"])), now.get(named(new["files"]))
    return one == other is not None and _formats(old["files"]) == _formats(new["files"])


def _formats(files: Sequence[str]) -> list[Any]:
    return [format_by_name(name) for name in files]


def differences(one: Any, other: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            yield from differences(one.get(name), other.get(name), (*path, name))
    elif one != other:
        yield path


def _at(request: Mapping[str, Any], path: tuple[str, ...]) -> str:
    value: Any = request["recipe"]
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return "unset" if value is None else json.dumps(_told(value), ensure_ascii=False)


def _told(value: Any) -> Any:
    """Of files only what was said of them; of a table that has a kind, its kind."""
    if isinstance(value, dict) and "kind" in value:
        return value["kind"]
    if not isinstance(value, list) or not all(isinstance(one, dict) and "files" in one for one in value):
        return value
    usual = {name: field.default for name, field in Corpus.model_fields.items()}
    said = [{name: own for name, own in one.items() if own not in (usual.get(name), [])} for one in value]
    return [one["files"] if len(one) == 1 else one for one in said]
