"""The loss of tokens, forward and backward: in chunks (seqloom) and at once (torch), by turns on the same numbers.

python benchmarks/token_loss.py [--turns 7] [--threads 2]
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F

from machine import describe
from seqloom.layers.token_loss import token_loss


def race(rows: int, width: int, vocabulary: int, turns: int) -> None:
    hidden = torch.randn(rows, width, requires_grad=True)
    weight = (torch.randn(vocabulary, width) * width**-0.5).requires_grad_()
    goal = torch.randint(vocabulary, (rows,))
    ways = {
        "seqloom": lambda: token_loss(hidden, weight, None, goal) / rows,
        "torch": lambda: F.cross_entropy(F.linear(hidden, weight), goal),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name, loss in ways.items():
            began = time.perf_counter()
            loss().backward()
            if turn:
                times[name].append((time.perf_counter() - began) * 1e3)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    ratio = statistics.median(b / a for a, b in zip(times["seqloom"], times["torch"], strict=True))
    print(
        f"{rows} rows, {width} wide, {vocabulary:6} tokens: seqloom {medians['seqloom']:.0f} ms, "
        f"torch {medians['torch']:.0f} ms, seqloom is {ratio:.2f}x"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    print(describe())
    race(2048, 256, 8_192, options.turns)
    race(2048, 512, 32_768, options.turns)


if __name__ == "__main__":
    main()
