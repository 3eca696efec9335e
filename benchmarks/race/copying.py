"""A translation model that copies its source: its weights are set by hand, so that nothing has to be trained.

It costs what any model of its size costs, ends each sentence where the source ends, and is so sure of every word that
all engines have to say the same, in eight bits too. How: tokens live in the slow half of the dimensions, which
positions hardly move; half of the first decoder layer's heads look for the position that they are at, by the fast
sinusoids, and hand on the token that they find there. All else is small noise.
"""
# D width  K width of a head  V tokens

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from race.work import FIRST, LANGUAGE, Sample, Size, word
from seqloom.models.build import build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.store.weights import weights
from seqloom.tasks import Codecs
from seqloom.text import Characters, Vocabulary, Words

NOISE = 0.002
SHARP, LOUD = 12.0, 8.0  # of looking for a position; of what is found there
TOKEN = 2.0  # of token vectors, beside positions of 1


def translator(size: Size, dropout: float = 0.0) -> dict[str, object]:
    """A Transformer as Vaswani et al. have it, and as every peer can hold it."""
    return {
        "family": "encoder-decoder",
        "width": size.width,
        "depth": size.depth,
        "mixer": {"kind": "attention", "heads": size.heads, "dropout": dropout},
        "feed_forward": {"kind": "dense", "width": 4 * size.width, "activation": "relu"},
        "norm": {"kind": "layer", "place": "post"},
        "positions": {"kind": "sinusoidal", "order": "halves"},
        "input": {"kind": "tokens", "scale": True},
        "dropout": dropout,
        "tie": "all",
    }


def language_model(size: Size, context: int, dropout: float = 0.0) -> dict[str, object]:
    """As GPT-2 is built."""
    return {
        "family": "decoder-only",
        "width": size.width,
        "depth": size.depth,
        "mixer": {"kind": "attention", "heads": size.heads, "dropout": dropout},
        "feed_forward": {"kind": "dense", "width": 4 * size.width, "activation": "gelu-tanh"},
        "norm": {"kind": "layer", "place": "pre"},
        "positions": {"kind": "learned", "length": context},
        "dropout": dropout,
        "tie": "all",
    }


def built(settings: dict[str, object], vocabulary: int) -> torch.nn.Module:
    torch.manual_seed(0)
    return build_model(ModelSettings.model_validate(settings), Sizes(vocabulary, vocabulary))


def copying_model(size: Size) -> torch.nn.Module:
    model = built(translator(size), size.vocabulary)
    _copy(dict(weights(model)), size)
    return model


def copying_run(size: Size, folder: Path) -> Path:
    """A run folder, made once."""
    run = folder / f"copying-{size.width}"
    if not run.exists():
        model = copying_model(size)
        words = " ".join(map(word, range(FIRST, size.vocabulary)))
        _save(run, model, translator(size), 'kind = "translate"', Words(), words)
    return run


def language_run(job: Sample, folder: Path) -> Path:
    """Random weights, which never say that a text ends."""
    run = folder / "language"
    if not run.exists():
        settings = language_model(job.size, job.context)
        model = built(settings, job.size.vocabulary)
        named = dict(weights(model))
        with torch.no_grad():
            vectors_VD = named["input.embedding.weight_VD"]
            vectors_VD[:, 0] = 0.0
            vectors_VD[:FIRST, 0] = -20.0  # no mark is ever drawn
            named["decoder.norm.bias_D"][0] = 5.0
        task = f'kind = "language"\ncontext = {job.context}'
        _save(run, model, settings, task, Characters(), "".join(alphabet(job.size)))
    return run


def alphabet(size: Size = LANGUAGE) -> list[str]:
    """A letter for each token that is no mark."""
    return [chr(0x21 + at) for at in range(size.vocabulary - FIRST)]


@torch.no_grad()
def _copy(named: dict[str, Tensor], size: Size) -> None:
    width, heads = size.width, size.heads
    K, half, quarter = width // heads, width // 2, width // 4
    seeded = torch.Generator().manual_seed(0)
    for name, tensor in named.items():
        if tensor.ndim == 2:
            tensor.copy_(torch.randn(tensor.shape, generator=seeded) * NOISE)
        elif "bias" in name:
            tensor.zero_()
    # the slowest sine is always about zero: what a norm subtracted is seen there, and taken back
    zero = half - 1
    sines = torch.arange(quarter + 1, half - 1)
    slow = torch.cat((sines, half + sines))
    fast = torch.cat((torch.arange(K // 2), half + torch.arange(K // 2)))
    vectors_VD = named["source.embedding.weight_VD"]
    vectors_VD.zero_()
    for part in sines, half + sines:
        # as many of each sign, among the cosines too, which are about 1: norms then treat all tokens alike
        order_VD = torch.rand(len(vectors_VD), len(part), generator=seeded).argsort(1)
        vectors_VD[:, part] = torch.where(order_VD < len(part) // 2, -1.0, 1.0) * TOKEN * width**-0.5
    cross = "decoder.blocks.0.cross.heads"
    q, kv, out = (named[f"{cross}.{part}.weight"] for part in ("q", "kv", "out"))
    for head in range(heads // 2):
        rows = torch.arange(head * K, (head + 1) * K)
        for of in q, kv:
            of[rows, fast] += SHARP
            of[rows, zero] -= SHARP
    rows = torch.arange(len(slow))
    kv[width + rows, slow] += 1.0
    out[slow, rows] += LOUD


def _save(
    run: Path, model: torch.nn.Module, settings: dict[str, object], task: str, pieces: Words | Characters, text: str
) -> None:
    vocabulary = Vocabulary.train(pieces, [text])
    assert vocabulary.encode([text])[0] == list(range(FIRST, len(vocabulary))), "tokens are numbered otherwise"
    made = run.with_suffix(".part")
    Codecs(vocabulary, vocabulary).save(made / "vocabulary")
    head = f'source = "a benchmark"\n[task]\n{task}\n[text]\nsource = {{ kind = "{pieces.kind}" }}\nshared = true\n'
    rest = "".join(f"{key} = {_toml(value)}\n" for key, value in settings.items())
    (made / "recipe.toml").write_text(f"{head}[model]\n{rest}", encoding="utf-8")
    save_file({name: tensor.contiguous() for name, tensor in weights(model).items()}, made / "model.safetensors")
    made.rename(run)


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case dict():
            return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
        case _:
            return str(value)
