"""Whether PatchTST (etth1.toml) beside the linear forecasters helps, by the four blocks of blocks.py: before any test.

It is trained on the windows that each block's linear models are fitted to, as the recipe says (Adam at 0.0001, batches
of 128 windows of all columns), and forecasts the block behind each epoch: alone, and together with the four linear ones
that blocks.py chose. The months of the test are not read.

    python benchmarks/ett/blocks_patches.py data/forecasting/ETTh1.csv.gz HORIZON [EPOCHS]
"""
# N windows of all columns  L look-back  H horizon

import gzip
import math
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from blocks import BLOCKS, COLUMNS, MONTHS4, YEAR, Array, Name, fit, forecast, windows

from seqloom.layers.layout import Padded
from seqloom.models import Sizes
from seqloom.models.build import build_model
from seqloom.models.encoder_only import EncoderOnly
from seqloom.models.settings import ModelSettings

LOOK_BACK, ROWS, RATE = 512, 128 * COLUMNS, 1e-4
CHOSEN: tuple[Name, ...] = (("linear", 336, 0.3), ("linear", 336, 0.3), ("linear", 512, 0.3), ("periods", 504, 0.1))
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)  # of PatchTST


def normal(past_NL: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    level_N1 = past_NL.mean(1, keepdim=True)
    spread_N1 = (past_NL.var(1, keepdim=True, correction=0) + 1e-5).sqrt()
    return (past_NL - level_N1) / spread_N1, level_N1, spread_N1


def say(model: EncoderOnly, past_NL: torch.Tensor) -> torch.Tensor:
    read_NL, level_N1, spread_N1 = normal(past_NL)
    said = model.scores(model(read_NL[..., None], Padded.whole(len(read_NL), read_NL.shape[1], read_NL.device)))
    return said[..., 0] * spread_N1 + level_N1


def epochs(past_NL: torch.Tensor, goal_NH: torch.Tensor, model: EncoderOnly, count: int) -> Iterator[int]:
    """After each epoch of all windows in a new order; the rate falls by a cosine."""
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    steps, step = count * math.ceil(len(past_NL) / ROWS), 0
    for epoch in range(count):
        model.train()
        for rows in torch.randperm(len(past_NL)).split(ROWS):
            optimiser.param_groups[0]["lr"] = RATE * 0.5 * (1 + math.cos(math.pi * step / steps))
            optimiser.zero_grad()
            (say(model, past_NL[rows]) - goal_NH[rows]).square().mean().backward()
            optimiser.step()
            step += 1
        model.eval()
        yield epoch + 1


def tensors(pairs: list[tuple[Array, Array]]) -> tuple[torch.Tensor, torch.Tensor]:
    past, goal = (np.concatenate([pair[side] for pair in pairs]).astype(np.float32) for side in (0, 1))
    return torch.from_numpy(past), torch.from_numpy(goal)


def main() -> None:
    file, horizon, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 15
    with gzip.open(file, "rt") as lines:
        values = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=range(1, 1 + COLUMNS), max_rows=YEAR + MONTHS4)
    values = (values - values[:YEAR].mean(0)) / values[:YEAR].std(0)
    settings = ModelSettings.model_validate(tomllib.loads(Path(__file__).with_name("etth1.toml").read_text())["model"])
    found = np.zeros((len(BLOCKS), count, len(WEIGHTS)))
    for at, (name, (parts, block)) in enumerate(BLOCKS.items()):
        torch.manual_seed(1)
        model = build_model(settings, Sizes(1, horizon, LOOK_BACK))
        assert isinstance(model, EncoderOnly)
        linear = np.zeros(())
        for one in CHOSEN:
            past, goal = windows(values, block, one[1], horizon, reach=True)
            linear = linear + forecast(fit(values, parts, one, horizon), past, one[0]) / len(CHOSEN)
        past_NL, goal_NH = tensors([windows(values, part, LOOK_BACK, horizon, reach=False) for part in parts])
        asked_NL, _ = tensors([windows(values, block, LOOK_BACK, horizon, reach=True)])
        for epoch in epochs(past_NL, goal_NH, model, count):
            with torch.inference_mode():
                said = torch.cat([say(model, rows) for rows in asked_NL.split(ROWS)]).numpy()
            each = [float(np.square(weight * said + (1 - weight) * linear - goal).mean()) for weight in WEIGHTS]
            found[at, epoch - 1] = each
            print(
                name,
                epoch,
                *(f"{weight:g}: {error:.4f}" for weight, error in zip(WEIGHTS, each, strict=True)),
                flush=True,
            )
    for epoch, row in enumerate(np.exp(np.log(found).mean(0)), 1):
        print("mean", epoch, *(f"{weight:g}: {error:.4f}" for weight, error in zip(WEIGHTS, row, strict=True)))


if __name__ == "__main__":
    main()
