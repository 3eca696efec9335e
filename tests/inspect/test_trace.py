"""What a trace shows is what the model computed."""

import time
from pathlib import Path

import pytest
import torch
from torch import Tensor

from seqloom.inspect.trace import Example, Trace, trace
from seqloom.jobs.recipes.recipe import Recipe
from seqloom.layers.attention import SelfAttention
from seqloom.layers.attentive_recurrence import AttentiveRecurrenceMixer
from seqloom.layers.convolution import ConvolutionMixer
from seqloom.layers.cross_attention import MemoryAttention
from seqloom.layers.gated_linear import GatedLinearMixer
from seqloom.layers.layout import Padded
from seqloom.layers.memory_compressed import MemoryCompressedAttention
from seqloom.layers.mixers import CrossSettings, MixerSettings
from seqloom.layers.recurrence import RecurrenceMixer
from seqloom.models.block import Block
from seqloom.models.build import Model, build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.settings import load
from tests.laws import cases, model_cases

WIDTH, SIZES = 8, Sizes(11, 11)


def _model(settings: ModelSettings, sizes: Sizes = SIZES) -> Model:
    torch.manual_seed(0)
    model = build_model(settings, sizes).eval()
    for parameter in model.parameters():  # no gate, gain or bias stays at a value that hides a mistake
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def _example(settings: ModelSettings, sizes: Sizes = SIZES) -> Example:
    def read(kind: str, length: int, size: int) -> Tensor:
        if kind == "spelled":
            return torch.tensor([1, size + 7, size + 9, 2, 0, size + 1, 1][:length])
        if kind == "images":
            return torch.randn(2 * length, 1)
        return torch.randint(size, (length,)) if kind == "tokens" else torch.randn(length, size)

    written = read(settings.decoder_input.kind, 6, sizes.target) if settings.family == "encoder-decoder" else None
    return Example(read(settings.input.kind, 7, sizes.source), written)


def _close(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def _named(found: Trace, box: str) -> dict[str, Tensor]:
    return {value.name: value.matrix for value in found.values(box)}


def _explained(model: Model, found: Trace) -> None:
    """Every box's last value follows from the others, and is what the layer itself returned."""
    for name, module in model.named_modules():
        if found.flow.box(name) is None and not isinstance(module, Block):
            continue  # what reads the letters of a word
        match module:
            case SelfAttention() | MemoryCompressedAttention() | MemoryAttention():
                _attention(found, name, module)
            case AttentiveRecurrenceMixer():
                _attentive(found, name, module)
            case RecurrenceMixer():
                _recurrence(found, name, module)
            case ConvolutionMixer():
                values = _named(found, name)
                gated = module.settings.gated
                made = values["a"] * values["b"].sigmoid() if gated else module.activate(values["a"])
                _close(made, found.seen.made(name))
                weight = module.conv.weight.transpose(1, 2).flatten(1)
                if not module.settings.depthwise:
                    mapped = torch.nn.functional.linear(values["W"], weight, module.conv.bias)
                    _close(mapped.chunk(2, -1)[0] if gated else mapped, values["a"])
            case GatedLinearMixer():
                _fading(found, name, module)
            case Block():
                _block(found, name)


def _attention(found: Trace, name: str, layer: SelfAttention | MemoryCompressedAttention | MemoryAttention) -> None:
    values = _named(found, name)
    heads = values["Q"].shape[0]
    keys, given = (values[one].repeat_interleave(heads // len(values[one]), 0) for one in "KV")
    if layer.heads.score.scale is not None:
        scores = values["Q"] @ keys.transpose(-1, -2) * layer.heads.score.scale + values.get("B", torch.zeros(()))
        _close(scores, values["S"])
    hidden = values.get("M", values["S"])
    weights = hidden.softmax(-1).nan_to_num(0.0)  # a row that sees nothing is 0
    _close(weights, values["A"])
    relative = getattr(layer, "relative", None)
    if relative is None or not relative.mixes_values:
        _close(weights @ given, values["Z"])
    _close(values["Z"].transpose(0, 1).flatten(1), values["C"])
    _close(values["Y"], found.seen.made(name))
    if type(layer) is not MemoryAttention and not isinstance(layer, MemoryAttention):
        made = values["C"] if layer.heads.out is None else layer.heads.out(values["C"])
        _close(layer.finish(made) if isinstance(layer, SelfAttention) else made, values["Y"])
    elif type(layer) is MemoryAttention:
        _close(values["C"] if layer.heads.out is None else layer.heads.out(values["C"]), values["Y"])


def _recurrence(found: Trace, name: str, layer: RecurrenceMixer) -> None:
    for box in found.flow.boxes:
        if box.of == name and box.kind == "cell":
            values, made = _named(found, box.id), found.seen.made(box.id)
            _close(values["h"], made.flip(0) if box.settings["backward"] else made)
            if "o" in values and layer.settings.projection is False:
                _close(values["o"] * values["c"].tanh(), values["h"])


def _attentive(found: Trace, name: str, layer: AttentiveRecurrenceMixer) -> None:
    top = _named(found, f"{name}.cells.{len(layer.cells) - 1}")["h"]
    contexts = found.seen.all_made(f"{name}.attention")[0]
    values = _named(found, f"{name}.attention.heads")
    if layer.attention.heads.out is None:
        _close(values["C"], contexts)
    if layer.out is not None and layer.settings.residual is None:
        parts = (contexts, top) if layer.settings.form == "luong" else (top, contexts, found.seen.read(name))
        _close(layer.out(torch.cat(parts, -1)).tanh(), found.seen.made(name))


def _fading(found: Trace, name: str, layer: GatedLinearMixer) -> None:
    total = torch.zeros(())
    for side in ["ahead"] if layer.back is None else ["ahead", "back"]:
        values = _named(found, f"{name}.{side}")
        read = values["R"] @ values["V"]
        _close(layer.norm(read) * torch.nn.functional.silu(values["G"]), values["Z"])
        total = total + values["Z"].transpose(0, 1).flatten(1)
    _close(layer.out(total), found.seen.made(name))


def _block(found: Trace, name: str) -> None:
    last = [box.id for box in found.flow.boxes if box.group == name and box.of is None][-1]
    _close(found.values(last)[-1].matrix, found.seen.made(name))


MIXERS: dict[str, MixerSettings] = {**cases.BOTH, **cases.WITH_MEMORY}


@pytest.mark.parametrize("name", MIXERS)
def test_every_mixer_from_left_to_right(name: str) -> None:
    needs = {"kind": "encoder-decoder", "cross": {"kind": "none"}} if _reads_memory(MIXERS[name]) else None
    base = {"width": WIDTH, "depth": 2, "feed_forward": {"kind": "dense", "width": 12}}
    if needs is None:
        settings = ModelSettings.model_validate({**base, "family": "decoder-only", "mixer": MIXERS[name]})
    else:
        decoder = {"mixer": MIXERS[name], "cross": {"kind": "none"}}
        encoder = {"mixer": _encoder(MIXERS[name])}
        settings = ModelSettings.model_validate({**base, "encoder": encoder, "decoder": decoder})
    model = _model(settings)
    _explained(model, trace(model, _example(settings)))


def _reads_memory(mixer: MixerSettings) -> bool:
    return mixer.kind == "attentive-recurrence" or (mixer.kind == "recurrence" and mixer.initial != "zeros")


def _encoder(mixer: MixerSettings) -> MixerSettings | dict[str, object]:
    """Layers that begin where the encoder's ended are like them."""
    if getattr(mixer, "initial", None) != "layers":
        return {"kind": "recurrence"}
    shared = {name: getattr(mixer, name) for name in ("cell", "depth", "hidden", "projection")}
    return {"kind": "recurrence", **{name: value for name, value in shared.items() if value is not None}}


@pytest.mark.parametrize("name", {**cases.BOTH, **cases.NOT_CAUSAL})
def test_every_mixer_in_both_directions(name: str) -> None:
    mixer = {**cases.BOTH, **cases.NOT_CAUSAL}[name]
    settings = ModelSettings.model_validate(
        {"family": "encoder-only", "width": WIDTH, "depth": 2, "mixer": mixer, "output": {"kind": "tags"}}
    )
    model = _model(settings)
    _explained(model, trace(model, _example(settings)))


@pytest.mark.parametrize("name", cases.CROSS)
def test_every_way_to_a_source(name: str) -> None:
    cross: CrossSettings = cases.CROSS[name]
    settings = ModelSettings.model_validate({"width": WIDTH, "depth": 2, "decoder": {"cross": cross}})
    model = _model(settings)
    _explained(model, trace(model, _example(settings)))


@pytest.mark.parametrize("name", {**model_cases.SETTINGS, **model_cases.READINGS})
def test_every_model_says_what_it_says(name: str) -> None:
    settings = ModelSettings.model_validate({**model_cases.SETTINGS, **model_cases.READINGS}[name])
    model, example = _model(settings, model_cases.sizes_of(name)), _example(settings, model_cases.sizes_of(name))
    found = trace(model, example)
    _explained(model, found)
    with torch.no_grad():
        if isinstance(model, EncoderDecoder):
            assert example.written is not None
            layouts = Padded.whole(1, len(example.read)), Padded.whole(1, len(example.written))
            output = model(example.read[None], layouts[0], example.written[None], layouts[1])
        else:
            output = model(example.read[None], Padded.whole(1, len(example.read)))
        scores = model.scores(output)[0]
    _close(found.scores, scores)
    _close(found.values("head")[-1].matrix.reshape(scores.shape), scores)
    assert all(value.matrix.dim() in (2, 3) for box in found.flow.boxes for value in found.values(box.id))


def test_probabilities_and_loss() -> None:
    settings = ModelSettings.model_validate(model_cases.SETTINGS["transformer-2017"])
    model = _model(settings)
    example = Example(torch.tensor([5, 6, 7, 2]), torch.tensor([1, 5, 6]), torch.tensor([5, 6, 2]))
    found = trace(model, example)
    _close(found.values("head.probabilities")[-1].matrix, found.scores.softmax(-1))
    assert example.goal is not None
    wanted = torch.nn.functional.cross_entropy(found.scores, example.goal, reduction="none")
    _close(found.values("head.loss")[-1].matrix[:, 0], wanted)


def test_nothing_of_it_stays() -> None:
    settings = ModelSettings.model_validate(model_cases.SETTINGS["bahdanau-model"])
    model = _model(settings)
    trace(model, _example(settings))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_it_is_quick_enough_to_click() -> None:
    """Of the demo's model all values, in less than the 200 ms that a view may take."""
    recipe = load(Path(__file__).parents[2] / "recipes" / "demo-dates.toml", Recipe)
    model = build_model(recipe.model, Sizes(200, 60)).eval()
    example = Example(torch.randint(60, (20,)), torch.randint(60, (12,)), torch.randint(60, (12,)))
    took = []
    for _ in range(6):  # the first one warms up; of the others the best, as the machine may be busy
        begin = time.perf_counter()
        found = trace(model, example)
        assert [found.values(box.id) for box in found.flow.boxes]
        took.append(time.perf_counter() - begin)
    assert min(took[1:]) < 0.2, took


@pytest.mark.parametrize("place", ["pre", "post", "both"])
def test_residuals_that_are_scaled(place: str) -> None:
    residual = {"kind": "add", "carry": 1.7, "scale": 0.6}
    norm = {"kind": "rms", "place": place}
    settings = ModelSettings.model_validate({"width": WIDTH, "depth": 2, "residual": residual, "norm": norm})
    model = _model(settings)
    _explained(model, trace(model, _example(settings)))
