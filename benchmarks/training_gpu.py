"""Training steps on a GPU (forward, backward, Adam), seqloom and its peers on the same seeded work, in one run.

    python benchmarks/training_gpu.py [--sizes base small] [--seconds 8] [--profile]
        [--out benchmarks/results/training_gpu.txt]

base   encoder-decoder, 512 wide, 6 + 6 layers, 32,000 tokens, about 25,000 source and 25,000 target tokens a step
small  256 wide, 3 + 3 layers, 8,000 tokens, about 12,000 + 12,000 a step

Lengths are lognormal with a mean of 27. bf16, no dropout. Batches of like lengths for all: peers pad, seqloom packs.
Figures are real target tokens a second. peak: the share of a large matrix product's speed, measured in the same run,
counting the model's own products alone.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from kernel_times import kernel_times
from machine import describe
from race.systems.own import PairsLoss
from race.work import Size
from seqloom.data.ragged import Ragged
from seqloom.models.build import build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes
from seqloom.tasks import Batch, Goals, Side
from seqloom.training.optimisers import Adam, build_optimiser
from seqloom.training.recorder import Awaited, Knobs, Recorder
from seqloom.training.step import Work

DEVICE = torch.device("cuda")


@dataclass(frozen=True)
class Load(Size):
    """tokens: of each side of a step."""

    tokens: int


LOADS = {"base": Load(512, 6, 8, 32000, 25000), "small": Load(256, 3, 4, 8000, 12000)}


def work_of(size: Load, count: int, seed: int = 1) -> list[tuple[Ragged, Ragged]]:
    """Batches of like lengths, in a random order."""
    draw = np.random.default_rng(seed)
    spread = 0.6
    centre = math.log(27) - spread**2 / 2
    many = count * size.tokens // 20
    source_B = np.clip(np.round(draw.lognormal(centre, spread, many)), 1, 200).astype(int)
    target_B = np.clip(np.round(source_B * draw.lognormal(0, 0.15, many)), 1, 200).astype(int)
    order = np.argsort(np.maximum(source_B, target_B))
    cuts, begin, totals = [], 0, np.cumsum(np.stack((source_B[order], target_B[order]), 1), 0)
    while begin < many:
        before = totals[begin - 1] if begin else np.zeros(2, int)
        end = min(int(np.searchsorted(totals[:, side], before[side] + size.tokens, "right")) for side in (0, 1))
        cuts.append(order[begin : max(end, begin + 1)])
        begin = max(end, begin + 1)
    cuts = [cuts[place] for place in draw.permutation(len(cuts) - 1)[:count]]

    def rows(lengths: np.ndarray) -> Ragged:
        return Ragged.of(draw.integers(4, size.vocabulary, lengths.sum()).astype(np.int32), lengths)

    return [(rows(source_B[cut]), rows(target_B[cut])) for cut in cuts]


def seqloom(size: Load, work: list[tuple[Ragged, Ragged]], records: bool) -> tuple[nn.Module, Callable[[int], object]]:
    settings = ModelSettings.model_validate(
        {
            "width": size.width,
            "depth": size.depth,
            "mixer": {"kind": "attention", "heads": size.heads},
            "feed_forward": {"kind": "dense", "width": 4 * size.width, "activation": "relu"},
            "norm": {"kind": "layer", "place": "post"},
            "positions": {"kind": "sinusoidal"},
            "input": {"kind": "tokens", "scale": True},
            "tie": "all",
        }
    )
    model = build_model(settings, Sizes(size.vocabulary, size.vocabulary)).to(DEVICE).train()
    step = Work(PairsLoss(), model, Goals(0.1), DEVICE, torch.bfloat16, 1, print)  # type: ignore[arg-type]
    recorder = Recorder(step, build_optimiser(Adam(), model), None, None, size.tokens, print)
    recorder.records = records
    batches = []
    for source, target in work:
        sides, goal = (Side.of(source), Side.of(target)), torch.from_numpy(target.values_N.astype(np.int64))
        batches.append(Batch(None, *sides, goal, len(goal)))  # type: ignore[arg-type]
    waiting: list[Awaited] = []

    def run(i: int) -> None:
        for _ in range(3):  # the first batch of its kind is not recorded, and not done
            awaited = recorder.step(i, batches[i % len(batches)], Knobs(1.0))
            if awaited is not None:
                break
        else:
            raise RuntimeError("a batch is refused by the recorder")
        waiting.append(awaited)
        if len(waiting) > 4:
            waiting.pop(0).read()

    return model, run


def padded(rows: Ragged, fill: int) -> Tensor:
    lengths_B = rows.lengths_B
    out = np.full((len(rows), int(lengths_B.max())), fill, np.int64)
    out[np.arange(out.shape[1]) < lengths_B[:, None]] = rows.values_N
    return torch.from_numpy(out)


def marian(size: Load, work: list[tuple[Ragged, Ragged]]) -> tuple[nn.Module, Callable[[int], object]]:
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=size.vocabulary, d_model=size.width, encoder_layers=size.depth, decoder_layers=size.depth,
        encoder_attention_heads=size.heads, decoder_attention_heads=size.heads, encoder_ffn_dim=4 * size.width,
        decoder_ffn_dim=4 * size.width, activation_function="relu", dropout=0.0, attention_dropout=0.0,
        scale_embedding=True, pad_token_id=1, decoder_start_token_id=0, eos_token_id=2, attn_implementation="sdpa",
        use_cache=False,
    )  # fmt: skip
    model = MarianMTModel(config).to(DEVICE).train()
    optimiser = torch.optim.Adam(model.parameters(), fused=True)
    batches = [(padded(source, 1).pin_memory(), padded(target, -100).pin_memory()) for source, target in work]

    def run(i: int) -> None:
        source, labels = (x.to(DEVICE, non_blocking=True) for x in batches[i % len(batches)])
        given = F.pad(labels[:, :-1], (1, 0), value=0).clamp(min=1)
        with torch.autocast("cuda", torch.bfloat16):
            out = model(input_ids=source, attention_mask=(source != 1).long(), decoder_input_ids=given)
            loss = F.cross_entropy(out.logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return model, run


def plain_torch(size: Load, work: list[tuple[Ragged, Ragged]]) -> tuple[nn.Module, Callable[[int], object]]:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(size.vocabulary, size.width)
            self.places = nn.Embedding(256, size.width)
            self.body = nn.Transformer(
                size.width, size.heads, size.depth, size.depth, 4 * size.width, 0.0, batch_first=True
            )

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            x, y = (self.embedding(ids) + self.places.weight[: ids.shape[1]] for ids in (source, target))
            mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=DEVICE)
            none = source == 1
            hidden = self.body(
                x, y, tgt_mask=mask, src_key_padding_mask=none, memory_key_padding_mask=none, tgt_is_causal=True
            )
            return F.linear(hidden, self.embedding.weight)

    model = Model().to(DEVICE).train()
    optimiser = torch.optim.Adam(model.parameters(), fused=True)
    batches = [(padded(source, 1).pin_memory(), padded(target, -100).pin_memory()) for source, target in work]

    def run(i: int) -> None:
        source, labels = (x.to(DEVICE, non_blocking=True) for x in batches[i % len(batches)])
        given = F.pad(labels[:, :-1], (1, 0), value=0).clamp(min=1)
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(model(source, given).flatten(0, 1), labels.flatten(), label_smoothing=0.1)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return model, run


def timed(run: Callable[[int], object], work: list[tuple[Ragged, Ragged]], seconds: float) -> float:
    """Real target tokens a second, after each batch was seen three times."""
    for i in range(3 * len(work)):
        run(i)
    torch.cuda.synchronize()
    began, i, tokens = time.monotonic(), 0, 0
    while time.monotonic() - began < seconds:
        for _ in range(len(work)):
            run(i)
            tokens += len(work[i % len(work)][1].values_N)
            i += 1
        torch.cuda.synchronize()
    return tokens / (time.monotonic() - began)


def peak() -> float:
    """FLOPs a second of a large bf16 product."""
    a, b = (torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    torch.cuda.synchronize()
    began = time.monotonic()
    for _ in range(20):
        a @ b
    torch.cuda.synchronize()
    return 20 * 2 * 8192**3 / (time.monotonic() - began)


def flops(size: Load) -> float:
    """Of the products with weights, for one source and one target token, there and back."""
    layer = 12 * size.width**2
    return 6 * (size.depth * layer + size.depth * (layer + 4 * size.width**2) + size.vocabulary * size.width)


def lines(sizes: list[str], seconds: float, profile: bool, alone: bool) -> Iterator[str]:
    top = peak()
    yield f"a bf16 product of 8192 × 8192: {top / 1e12:.0f} TFLOP/s"
    for name in sizes:
        size = LOADS[name]
        work = work_of(size, 16)
        yield f"\n{name}: {size}"
        systems = {
            "torch.nn.Transformer": lambda size=size, work=work: plain_torch(size, work),
            "transformers Marian": lambda size=size, work=work: marian(size, work),
            "seqloom, not recorded": lambda size=size, work=work: seqloom(size, work, False),
            "seqloom": lambda size=size, work=work: seqloom(size, work, True),
        }
        for system, build in systems.items():
            if alone and system != "seqloom":
                continue
            torch.manual_seed(0)
            torch.cuda.reset_peak_memory_stats()
            model, run = build()
            speed = timed(run, work, seconds)
            share, memory = speed * flops(size) / top, torch.cuda.max_memory_allocated() / 2**30
            yield f"{system:24} {speed / 1e3:8.0f} k tokens/s  {share:5.0%} of peak  {memory:5.1f} GiB"
            if profile and system == "seqloom":
                yield from kernel_times(lambda run=run: run(0))
            del model, run
            torch.cuda.empty_cache()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=list(LOADS), choices=list(LOADS))
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--profile", action="store_true", help="what a recorded step is made of")
    parser.add_argument(
        "--alone", action="store_true", help="seqloom, recorded, and no other: to see what a change brings"
    )
    parser.add_argument("--out")
    given = parser.parse_args()
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew for every new shape: peers would be much slower
    said = [describe()]
    print(said[0], flush=True)
    for line in lines(given.sizes, given.seconds, given.profile, given.alone):
        print(line, flush=True)
        said.append(line)
    if given.out:
        Path(given.out).write_text("\n".join(said) + "\n")


if __name__ == "__main__":
    main()
