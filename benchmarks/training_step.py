"""One training step (forward, backward, Adam) of seqloom and of transformers, on the same batches, in one run.

    python benchmarks/training_step.py [--steps 12] [--dropout 0.1] [--out benchmarks/results/training_step.json]

translate  encoder-decoder, 256 wide, 3 + 3 layers, 4 heads, 8,192 tokens, 2,048 target tokens a batch, lognormal
           lengths of mean 13; batches of like lengths, as everybody trains; the peer is Marian with SDPA
translate, mixed lengths   the same with batches as the sentences come
language   decoder-only, 384 wide, 6 layers, 6 heads, 65 tokens, 8 rows of 256; the peer is GPT-2 with SDPA

The systems take turns, step by step, so that a busy machine is busy for both. Ratios above 1: seqloom is faster.
"""

import argparse
import json
import math
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel

from machine import describe
from seqloom.layers.layout import Packed, Padded
from seqloom.models.build import build_model
from seqloom.models.settings import ModelSettings
from seqloom.models.sizes import Sizes

VOCABULARY, LETTERS, TARGET_TOKENS = 8192, 65, 2048
Step = Callable[[int], Tensor]  # the loss of batch i
Pair = tuple[list[int], list[int]]


def pairs(count: int, seed: int) -> list[Pair]:
    """Sentences of random tokens; lengths of a pair go together, with some noise."""
    draw = random.Random(seed)
    spread = 0.6
    centre = math.log(13) - spread**2 / 2
    made = []
    for _ in range(count):
        source = min(100, max(1, round(draw.lognormvariate(centre, spread))))
        target = min(100, max(1, round(source * draw.lognormvariate(0, 0.15))))
        made.append(tuple([draw.randrange(4, VOCABULARY) for _ in range(n)] for n in (source, target)))
    return [(source, target) for source, target in made]


def batches(sentences: list[Pair], alike: bool, count: int, seed: int) -> list[list[Pair]]:
    """Batches of about TARGET_TOKENS target tokens."""
    order = sorted(sentences, key=lambda pair: (len(pair[1]), len(pair[0]))) if alike else sentences
    cut: list[list[Pair]] = [[]]
    for pair in order:
        if sum(len(target) for _, target in cut[-1]) + len(pair[1]) > TARGET_TOKENS:
            cut.append([])
        cut[-1].append(pair)
    return random.Random(seed).sample(cut[:-1], count)


def seqloom_translate(work: list[list[Pair]], dropout: float) -> tuple[torch.nn.Module, Step]:
    settings = ModelSettings.model_validate(
        {
            "width": 256,
            "depth": 3,
            "mixer": {"kind": "attention", "heads": 4, "dropout": dropout},
            "feed_forward": {"kind": "dense", "width": 1024, "activation": "relu"},
            "norm": {"kind": "layer", "place": "post"},
            "positions": {"kind": "sinusoidal"},
            "input": {"kind": "tokens", "scale": True},
            "dropout": dropout,
            "tie": "all",
        }
    )
    model = build_model(settings, Sizes(VOCABULARY, VOCABULARY)).train()

    def step(i: int) -> Tensor:
        sources, targets = zip(*work[i], strict=True)
        source, goal = (torch.tensor([token for row in rows for token in row]) for rows in (sources, targets))
        given = torch.tensor([token for row in targets for token in [0, *row[:-1]]])
        source_layout, target_layout = (Packed.of([len(row) for row in rows]) for rows in (sources, targets))
        output = model(source, source_layout, given, target_layout)
        return model.head.loss(output.hidden, target_layout, goal) / len(goal)

    return model, step


def marian(work: list[list[Pair]], dropout: float) -> tuple[torch.nn.Module, Step]:
    config = MarianConfig(
        vocab_size=VOCABULARY,
        d_model=256,
        encoder_layers=3,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=1024,
        decoder_ffn_dim=1024,
        activation_function="relu",
        dropout=dropout,
        attention_dropout=dropout,
        activation_dropout=0.0,
        scale_embedding=True,
        pad_token_id=1,
        decoder_start_token_id=0,
        eos_token_id=2,
        attn_implementation="sdpa",
        use_cache=False,
    )
    model = MarianMTModel(config).train()

    def step(i: int) -> Tensor:
        sources, targets = zip(*work[i], strict=True)
        source, labels = padded(sources, 1), padded(targets, -100)
        given = padded([[0, *row[:-1]] for row in targets], 1)
        return model(input_ids=source, attention_mask=(source != 1).long(), decoder_input_ids=given, labels=labels).loss

    return model, step


def padded(rows: list[list[int]] | tuple[list[int], ...], fill: int) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [fill] * (width - len(row)) for row in rows])


def seqloom_language(work: list[Tensor], dropout: float) -> tuple[torch.nn.Module, Step]:
    settings = ModelSettings.model_validate(
        {
            "family": "decoder-only",
            "width": 384,
            "depth": 6,
            "mixer": {"kind": "attention", "heads": 6, "dropout": dropout},
            "feed_forward": {"kind": "dense", "activation": "gelu-tanh"},
            "positions": {"kind": "learned", "length": 256},
            "dropout": dropout,
            "tie": "all",
        }
    )
    model = build_model(settings, Sizes(LETTERS, LETTERS)).train()

    def step(i: int) -> Tensor:
        x_BT, goal_BT = work[i][:, :-1], work[i][:, 1:]
        output = model(x_BT, Padded.whole(*x_BT.shape))
        return model.head.loss(output.hidden, output.layout, goal_BT) / goal_BT.numel()

    return model, step


def gpt2(work: list[Tensor], dropout: float) -> tuple[torch.nn.Module, Step]:
    config = GPT2Config(
        vocab_size=LETTERS,
        n_positions=256,
        n_embd=384,
        n_layer=6,
        n_head=6,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        attn_implementation="sdpa",
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = GPT2LMHeadModel(config).train()

    def step(i: int) -> Tensor:
        x_BT, goal_BT = work[i][:, :-1], work[i][:, 1:]
        return F.cross_entropy(model(x_BT).logits.flatten(0, 1), goal_BT.flatten())

    return model, step


def race(
    name: str, systems: dict[str, tuple[torch.nn.Module, Step]], tokens: list[int], steps: int
) -> dict[str, object]:
    """The systems by turns over the same batches; median and spread of a step, and the ratio to seqloom."""
    optimisers = {key: torch.optim.Adam(model.parameters(), 1e-4, fused=True) for key, (model, _) in systems.items()}
    times: dict[str, list[float]] = {key: [] for key in systems}
    for turn in range(steps + 2):
        for key, (_, step) in systems.items():
            began = time.perf_counter()
            step(turn % len(tokens)).backward()
            optimisers[key].step()
            optimisers[key].zero_grad()
            if turn >= 2:
                times[key].append(time.perf_counter() - began)
    done = [tokens[turn % len(tokens)] for turn in range(2, steps + 2)]
    rows = {}
    for key, taken in times.items():
        ratio = statistics.median(b / a for a, b in zip(times["seqloom"], taken, strict=True))
        speed = statistics.median(n / t for n, t in zip(done, taken, strict=True))
        quarter = statistics.quantiles(taken, n=4)
        parameters = sum(p.numel() for p in systems[key][0].parameters()) / 1e6
        print(
            f"{name:26} {key:14} {speed:8.0f} tokens/s   step {statistics.median(taken) * 1e3:7.1f} ms "
            f"({quarter[0] * 1e3:.0f}-{quarter[2] * 1e3:.0f})   seqloom is {ratio:.2f}x   {parameters:.1f} M parameters"
        )
        rows[key] = {"tokens_per_second": speed, "median_ms": statistics.median(taken) * 1e3, "seqloom_is": ratio}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print(describe())
    results: dict[str, object] = {"machine": describe(), "dropout": options.dropout, "steps": options.steps}
    sentences = pairs(12_000, seed=1)
    for name, alike in ("translate", True), ("translate, mixed lengths", False):
        work = batches(sentences, alike, 6, seed=2)
        tokens = [sum(len(target) for _, target in batch) for batch in work]
        systems = {"seqloom": seqloom_translate(work, options.dropout), "Marian SDPA": marian(work, options.dropout)}
        results[name] = race(name, systems, tokens, options.steps)
    rows = [torch.randint(LETTERS, (8, 257)) for _ in range(6)]
    systems = {"seqloom": seqloom_language(rows, options.dropout), "GPT-2 SDPA": gpt2(rows, options.dropout)}
    results["language"] = race("language", systems, [8 * 256] * 6, options.steps)
    if options.out:
        options.out.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
