"""What a model says and why, as something to keep: `model.look(…)` in a notebook, `seqloom look` as a file."""
# H heads  T rows  S columns

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from seqloom.generation.settings import GenerationSettings
from seqloom.inspect.changes import Change
from seqloom.inspect.picture import attention_svg
from seqloom.jobs import lecture
from seqloom.jobs.look import Look, LookRequest, entry, flow, kind_of
from seqloom.jobs.looking.beam import beam
from seqloom.jobs.looking.documents import AnswerDocument, LayerDocument, to_json
from seqloom.jobs.looking.page import look_page
from seqloom.jobs.looking.png import SPACE, heat_png
from seqloom.jobs.looking.progress import Progress
from seqloom.jobs.model import Model
from seqloom.settings import UserError
from seqloom.settings.words import nearest
from seqloom.store.atomic import write_bytes, write_text

MOST_LEFT_OUT = 256  # places, one by one
HEIGHT = 720  # pixels of the page in a notebook
_CHANGES: TypeAdapter[tuple[Change, ...]] = TypeAdapter(tuple[Change, ...])


class Looked:
    """One input, or several, to one model. str() is what it says."""

    def __init__(self, model: Model, name: str, requests: Sequence[LookRequest], lecture: bool = False) -> None:
        """name: of the model, on the page."""
        if not requests:
            raise UserError("there is nothing to look at: give a text")
        self.model, self.name, self.lecture = model, name, lecture
        self.looks = [Look(model, request) for request in requests]

    def __repr__(self) -> str:
        said = "; ".join(f"{look.request.input!r} → {look.answer().text!r}" for look in self.looks)
        return f"Looked({self.name}: {said})"

    def __str__(self) -> str:
        return "\n".join(answer.text for answer in self.answers)

    @property
    def answers(self) -> list[AnswerDocument]:
        return [look.answer() for look in self.looks]

    @property
    def layers(self) -> tuple[LayerDocument, ...]:
        """Of the first input: every layer that weighs places; `weights` is [heads, rows, columns]."""
        return self.looks[0].attention().layers

    # -- as a page

    def documents(self) -> Iterator[dict[str, Any]]:
        """All that the page can ask for, but for what is changed: that needs a model."""
        inputs = [look.request.input for look in self.looks]
        about = to_json(entry(self.model, self.name, inputs, self.lecture)) | {"training": False}
        yield _document("models", {}, {"models": [about]})
        yield _document("flow", {"model": self.name}, to_json(flow(self.model)))
        for look in self.looks:
            yield from self._of(look)
        if not self.lecture and self.model.opened[0].run.metrics.exists():
            training = Progress(self.model.opened[0].run).document() | {"running": False}
            yield _document("training", {"model": self.name}, training)

    def _of(self, look: Look) -> Iterator[dict[str, Any]]:
        if look.request.changes:  # what it is compared with
            plain = Look(self.model, replace(look.request, changes=()))
            yield _document("answer", self._request(plain), to_json(plain.answer()))
            yield _document("attention", self._request(plain), to_json(plain.attention()))
        asked = self._request(look)
        yield _document("answer", asked, to_json(look.answer()))
        yield _document("trace", asked, to_json(look.trace()))
        yield _document("attention", asked, to_json(look.attention()))
        if self._hangs(look):
            yield _document("influence", asked, to_json(look.influence()))
        yield from self._boxes(look)
        if self.lecture and look.request.target is None:  # whose last step is a loss
            yield from self._boxes(Look(self.model, replace(look.request, target=look.answer().text)))
        if self.model.writer is not None and look.request.target is None:
            *_, tree = beam(look)
            yield _document("beam", asked, to_json(tree))

    def _hangs(self, look: Look) -> bool:
        """Whether it is told what the answer hangs on: each place of the input is run once for it."""
        kind, places = kind_of(self.model), len(look.subject.source or look.subject.target)
        return kind not in ("forecast", "graph") and places <= MOST_LEFT_OUT

    def _boxes(self, look: Look) -> Iterator[dict[str, Any]]:
        for box in look.trace().boxes:
            yield _document("box", {**self._request(look), "box": box}, to_json(look.box(box)))

    def _request(self, look: Look) -> dict[str, Any]:
        """As the page asks; what is empty is left out."""
        changes = [change.model_dump(mode="json") for change in look.request.changes]
        every = {"model": self.name, "input": look.request.input, "target": look.request.target, "changes": changes}
        return {name: value for name, value in every.items() if value not in (None, [], "")}

    def html(self) -> str:
        """The whole page, for a file: it needs nothing else."""
        return look_page(list(self.documents()), f"{self.name}: {self.looks[0].request.input}", self._start())

    def _start(self) -> str:
        asked = {name: value for name, value in self._request(self.looks[0]).items() if name != "model"}
        if not isinstance(asked.get("input"), str):
            asked["data"] = asked.pop("input", None)
        told = {name: value if isinstance(value, str) else json.dumps(value) for name, value in asked.items()}
        return f"#/write?{urlencode(told)}"

    def _repr_html_(self) -> str:
        """In a notebook: in a frame, so that its styles stay its own."""
        page = base64.b64encode(self.html().encode()).decode()
        style = f"width: 100%; height: {HEIGHT}px; border: 0"
        return f'<iframe title="seqloom" style="{style}" src="data:text/html;base64,{page}"></iframe>'

    # -- as files

    def save(
        self,
        path: str | PathLike[str],
        layer: str | None = None,
        head: int | None = None,
        font: str | PathLike[str] | None = None,
    ) -> Path:
        """By its ending: .html is the page, .svg and .png a heat map of attention. What is there is written over.
        layer, head: as for `svg`; font: as for `png`."""
        file = Path(path)
        if file.is_dir() or not file.parent.is_dir():
            raise UserError(f"{file}: should be a file in a folder that is there")
        match file.suffix.lower():
            case ".html" | ".htm":
                write_text(file, self.html())
            case ".svg":
                write_text(file, self.svg(layer, head))
            case ".png":
                write_bytes(file, self.png(layer, head, None if font is None else Path(font)))
            case other:
                raise UserError(f"{file}: what should {other or 'a name without an ending'} be? .html, .svg or .png")
        return file

    def svg(self, layer: str | None = None, head: int | None = None) -> str:
        """Where the model looked at the first input, with words. layer: its id; None: the last one that looks at the
        source, or the last of all. head: from 0 on; None: the mean of all heads."""
        return attention_svg(*self._drawn(layer, head), about="rows ask, columns are looked at")

    def png(self, layer: str | None = None, head: int | None = None, font: Path | None = None) -> bytes:
        """The same as pixels. font: a file, where no font of this machine has the words' letters."""
        return heat_png(*self._drawn(layer, head), font=font)

    def heads(self, layer: str | None = None) -> int:
        """How many the heat map of a layer can be of."""
        return len(self._weights(layer, None)[0].weights)

    def _drawn(self, layer: str | None, head: int | None) -> tuple[Tensor, list[str], list[str], str]:
        """Weights, rows, columns, title."""
        found, weights_TS = self._weights(layer, head)
        rows, columns = ([_shown(place.text) for place in places] for places in (found.rows, found.columns))
        # counted as the page counts them
        which = "" if found.weights.shape[0] == 1 else ", mean of all heads" if head is None else f", head {head + 1}"
        return weights_TS, rows, columns, found.title + which

    def _weights(self, layer: str | None, head: int | None) -> tuple[LayerDocument, Tensor]:
        layers = {one.id: one for one in self.layers}
        if not layers:
            raise UserError(f"{self.name}: no layer of this model weighs places: there is no attention to be drawn")
        if layer is None:
            layer = next((one.id for one in reversed(layers.values()) if one.kind == "cross"), list(layers)[-1])
        if layer not in layers:
            near = nearest(layer, layers)
            fix = f"did you mean {near}?" if near else f"there are {', '.join(layers)}"
            raise UserError(f"there is no attention layer {layer!r}; {fix}")
        weights_HTS = layers[layer].weights
        if head is not None and not 0 <= head < len(weights_HTS):
            raise UserError(f"{layer} has {len(weights_HTS)} heads, 0 to {len(weights_HTS) - 1}, and no head {head}")
        return layers[layer], weights_HTS.float().mean(0) if head is None else weights_HTS[head]


def _document(path: str, request: Mapping[str, Any], answer: Any) -> dict[str, Any]:
    return {"path": path, "request": dict(request), "answer": answer}


def _shown(piece: str) -> str:
    """As the page writes it: a space that a tokenizer marks can be seen."""
    return piece.replace("▁", SPACE).replace("\n", "↵").replace("\t", "⇥")


def look_at(
    model: Model,
    inputs: Any,
    target: Any,
    settings: GenerationSettings,
    what_if: Sequence[Change | Mapping[str, Any]],
    name: str | None,
) -> Looked:
    """For `Model.look`, which says what they mean. Some are tried at once, for their faults."""
    many = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    if target is not None and len(many) > 1:
        raise UserError("target: is the answer to one input, and several are given; look at one")
    try:
        changes = _CHANGES.validate_python(tuple(what_if))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UserError(f"what_if: {where}: {first['msg']}") from None
    folder = model.opened[0].run.path
    looked = Looked(
        model,
        name or folder.resolve().name,
        [LookRequest(one, target, changes, settings) for one in many],
        lecture=folder == lecture.FOLDER,
    )
    for look in looked.looks:
        look.answer()
    return looked
