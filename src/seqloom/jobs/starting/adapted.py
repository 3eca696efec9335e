"""What a run of another task needs of a model's settings: its own family, and its own output."""

from typing import Any

from pydantic import ValidationError

from seqloom.layers.embedding import Tokens
from seqloom.models.head_settings import ClassesOutput, TagsOutput, TokensOutput
from seqloom.models.settings import ModelSettings
from seqloom.models.stack_settings import Family
from seqloom.settings import UserError
from seqloom.text import TextSettings

FAMILY: dict[str, Family] = {
    "tag": "encoder-only",
    "classify": "encoder-only",
    "masked": "encoder-only",
    "language": "decoder-only",
    "translate": "encoder-decoder",
}


def adapted_model(model: ModelSettings, task: str) -> ModelSettings:
    """The model for another kind of task, or a UserError; a kind that is not known here gets it as it is."""
    if task not in FAMILY:
        return model
    family = "decoder-only" if (model.family, task) == ("decoder-only", "translate") else FAMILY[task]
    values = model.model_dump(exclude_unset=True, exclude={"output", "tie", "unfold", "target_input"})
    if family != model.family:
        values = _turned(values, model.family, family)
    values |= {"family": family, "output": _output(model, task)}
    values |= {"tie": model.tie if family == model.family and task not in ("tag", "classify") else "none"}
    if family == "decoder-only" and isinstance(model.input, Tokens) and model.input.segments:
        values |= {"input": model.input.model_copy(update={"segments": 0})}
    try:
        return ModelSettings.model_validate(values)
    except ValidationError as error:
        why = str(error.errors()[0]["msg"])
        raise UserError(f"its [model] cannot do {task} as it is ({why}); say a [model] in the recipe") from None


def _turned(values: dict[str, Any], old: Family, new: Family) -> dict[str, Any]:
    """What was said of one stack holds for the stack that begins from it; how a source was read is no matter now."""
    stack = {"encoder-only": "encoder", "decoder-only": "decoder"}
    sides = {side: values.pop(side, None) for side in ("encoder", "decoder")}
    kept = sides[stack.get(old) or stack[new]]
    if new == "encoder-decoder" and kept:
        return values | {"encoder": kept}
    values.pop("cross", None)
    if kept:
        kept.pop("cross", None)
        values |= kept
    return values


def _output(model: ModelSettings, task: str) -> TagsOutput | ClassesOutput | TokensOutput:
    match task:
        case "tag":
            return TagsOutput()
        case "classify":
            return ClassesOutput()
        case _ if isinstance(model.output, TokensOutput):
            return model.output if task == "masked" else model.output.model_copy(update={"follows": False})
        case _:
            return TokensOutput()


def adapted_text(text: TextSettings, model: ModelSettings, task: str) -> TextSettings:
    """A decoder-only model reads source and target as one text."""
    if task == "translate" and model.family == "decoder-only":
        return text.model_copy(update={"shared": True, "target": None})
    return text
