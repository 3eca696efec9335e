"""This machine, measured: steps of small models of all kinds, in half a minute; kept, so that it is done once."""

import hashlib
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seqloom import __version__
from seqloom.layers.layout import Packed
from seqloom.models.build import Model, build_model
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.settings import FailedError
from seqloom.settings.cache_folder import cache_folder
from seqloom.store.atomic import write_text
from seqloom.training.freed_memory import keep_freed_memory
from seqloom.training.load import ADAM, Lengths, Load, load_of
from seqloom.training.optimisers import Muon, OptimiserSettings, build_optimiser
from seqloom.training.pace import ROWS, WIDTHS, Pace, fitted

TURNS = 3  # of each step, and of each product
PRODUCTS = 5e7  # multiplications that are timed together


@dataclass(frozen=True)
class Trial:
    """A model, and a batch of rows of one length for it."""

    model: dict[str, Any]
    tokens: int
    length: int
    vocabulary: int = 1000
    source: int | None = None
    optimiser: OptimiserSettings = ADAM

    def settings(self) -> ModelSettings:
        return ModelSettings.model_validate(self.model)

    def load(self) -> Load:
        sizes = Sizes(self.vocabulary, self.vocabulary)
        return load_of(self.settings(), sizes, Lengths(self.tokens, self.length, self.source), self.optimiser)


def transformer(width: int, depth: int, family: str = "decoder-only", **others: Any) -> dict[str, Any]:
    mixer = {"kind": "attention", "heads": max(1, width // 32)}
    forward = {"kind": "dense", "width": 4 * width, "activation": "gelu"}
    return {"family": family, "width": width, "depth": depth, "mixer": mixer, "feed_forward": forward, **others}


def modern(width: int, depth: int) -> dict[str, Any]:
    """With what attention and feed-forward layers have now: turned positions, norms of queries and keys, gates."""
    mixer = {"kind": "attention", "heads": max(1, width // 32), "qk_norm": True, "relative": {"kind": "rotary"}}
    return transformer(width, depth, mixer=mixer, feed_forward={"kind": "dense", "activation": "silu", "gated": True})


def mixing(width: int, depth: int, **mixer: Any) -> dict[str, Any]:
    return transformer(width, depth, mixer=mixer)


def plain(width: int, depth: int, encoder: dict[str, Any], decoder: dict[str, Any], cross: str) -> dict[str, Any]:
    """Two stacks of mixers, and nothing around them."""
    none = {"kind": "none"}
    bare = {"family": "encoder-decoder", "width": width, "depth": depth, "feed_forward": none, "norm": none}
    sides = {"encoder": {"mixer": encoder}, "decoder": {"mixer": decoder, "cross": {"kind": cross}}}
    return bare | {"residual": {"kind": "none" if cross == "none" else "add"}} | sides


def attentive(width: int, layers: int, cell: str, score: str) -> dict[str, Any]:
    """A recurrent decoder that looks back at each step."""
    encoder = {"kind": "recurrence", "cell": cell, "direction": "both", "depth": layers}
    mixer = {"kind": "attentive-recurrence", "form": "bahdanau", "cell": cell, "depth": layers}
    return plain(width, 1, encoder, mixer | {"attention": {"score": score}}, "none")


def recurrent(width: int, layers: int) -> dict[str, Any]:
    """A recurrent network that reads, and one that writes."""
    mixer = {"kind": "recurrence", "cell": "lstm", "depth": layers}
    return plain(width, 1, mixer, mixer | {"initial": "layers"}, "none")


def gated(width: int, depth: int) -> dict[str, Any]:
    """Convolutions with gates, that look back in each layer."""
    mixer = {"kind": "convolution", "kernel": 3, "gated": True, "weight_norm": True}
    return plain(width, depth, mixer, mixer, "multi-step")


def narrow(width: int, depth: int) -> dict[str, Any]:
    """Convolutions that are narrower than what is around them, on an encoder's."""
    mixer = {"kind": "bottleneck-convolution", "kernel": 3}
    return plain(width, depth, mixer, mixer, "aligned") | {"norm": {"kind": "layer", "place": "pre"}}


def trials() -> Iterator[Trial]:
    """Small, and apart in each thing that costs time."""
    pairs = "encoder-decoder"
    yield Trial(transformer(64, 1), 128, 16, 100)
    yield Trial(transformer(64, 6), 128, 16, 100)
    yield Trial(transformer(64, 2), 2048, 16, 100)
    yield Trial(transformer(128, 2), 1024, 64)
    yield Trial(transformer(128, 2, dropout=0.1), 1024, 64)
    yield Trial(transformer(256, 2), 512, 16)
    yield Trial(transformer(256, 1), 1024, 256)
    yield Trial(transformer(384, 1), 256, 64, 100)
    yield Trial(transformer(64, 1), 1024, 1024, 100)
    yield Trial(transformer(128, 1), 1024, 1024, 100)
    yield Trial(transformer(64, 1), 2048, 2048, 100)
    yield Trial(transformer(128, 1), 2048, 256, 100)
    yield Trial(transformer(64, 1), 1024, 16, 16_000)
    yield Trial(transformer(128, 1), 256, 16, 16_000)
    yield Trial(transformer(128, 2, pairs), 512, 16)
    yield Trial(modern(128, 2), 512, 32)
    yield Trial(transformer(128, 2, pairs, dropout=0.1), 1024, 32, 4000)
    for width in 64, 256:
        yield Trial(transformer(width, 1), 256, 32, optimiser=Muon())
    for width, tokens, length in (64, 512, 32), (128, 1024, 128):
        yield Trial(mixing(width, 1, kind="recurrence", cell="lstm"), tokens, length)
        yield Trial(attentive(width, 1, "gru", "additive"), tokens, length)
        yield Trial(recurrent(width, 3), tokens, length)
        yield Trial(gated(width, 2), tokens, length)
        yield Trial(narrow(width, 3), tokens, length)
        yield Trial(mixing(width, 1, kind="gated-linear", heads=4), tokens, length)
        yield Trial(mixing(width, 1, kind="memory-compressed", heads=4), tokens, length)
        yield Trial(mixing(width, 1, kind="convolution", kernel=3), tokens, length)
    yield Trial(attentive(96, 3, "lstm", "dot"), 768, 24)
    yield Trial(attentive(160, 1, "lstm", "additive"), 640, 20)


def step_of(trial: Trial) -> Callable[[], Tensor]:
    """Forward, backward and update, on random tokens."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = build_model(trial.settings(), Sizes(trial.vocabulary, trial.vocabulary)).train()
        rows = max(1, round(trial.tokens / trial.length))
        read, read_layout = _rows(rows, trial.source or trial.length, trial.vocabulary)
        said, layout = _rows(rows, trial.length, trial.vocabulary)
    optimiser = build_optimiser(trial.optimiser, model)

    def step() -> Tensor:
        model.zero_grad(set_to_none=True)
        given = (read, read_layout, said, layout) if isinstance(model, EncoderDecoder) else (said, layout)
        loss = _loss(model, model(*given), said) / len(said)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step


def _rows(rows: int, length: int, vocabulary: int) -> tuple[Tensor, Packed]:
    return torch.randint(vocabulary, (rows * length,)), Packed.of([length] * rows)


def _loss(model: Model, output: Any, goal: Tensor) -> Tensor:
    head: Any = model.head
    found: Tensor = head.loss(output.hidden, output.layout, goal)
    return found


def calibrate(turns: int = TURNS) -> Pace:
    rates = tuple(tuple(_rate(rows, width) for width in WIDTHS) for rows in ROWS)
    all_trials = list(trials())
    with torch.random.fork_rng(devices=[]):
        return fitted([trial.load() for trial in all_trials], step_times(all_trials, turns), rates)


def step_times(trials: Sequence[Trial], turns: int) -> list[float]:
    """Seconds of each one's step: the best of several turns that go through all, as others may use the machine too.

    Each is done once before, as in training there is another one before each.
    """
    keep_freed_memory()
    steps = [step_of(trial) for trial in trials]
    best = [float("inf")] * len(steps)
    for _ in range(turns):
        for place, step in enumerate(steps):
            step()
            best[place] = min(best[place], timed(step))
    return best


def timed(work: Callable[[], object]) -> float:
    """Seconds. With one thread those of the processor, which nobody else makes longer."""
    now = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    began = now()
    work()
    return now() - began


def _rate(rows: int, width: int) -> float:
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(rows, width, generator=generator), torch.randn(width, width, generator=generator)
    out = torch.empty(rows, width)
    many = max(1, round(PRODUCTS / (rows * width**2)))  # one alone may be too short for a clock
    took = [timed(lambda: [torch.mm(x, w, out=out) for _ in range(many)]) for _ in range(TURNS)]
    return many * 2 * rows * width**2 / min(took)


def pace_here(measure: bool = False) -> Pace | None:
    """As it was measured before, with as many threads as torch has now; None: never. measure: then do so."""
    file = _file()
    try:
        return Pace.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        if not measure:
            return None
    pace = calibrate()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_text(file, pace.dumps())
    except (OSError, FailedError):
        pass  # it is measured again the next time
    return pace


def _file() -> Path:
    """Another processor, torch, number of threads or version of this is measured anew."""
    about = (_processor(), torch.__version__, torch.get_num_threads(), __version__, _FORM)
    return cache_folder() / "pace" / f"{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}.json"


_FORM = 3


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
