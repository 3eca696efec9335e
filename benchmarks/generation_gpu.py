"""Writing on a GPU, greedily and with a beam of 5: seqloom and transformers' Marian with the same weights, in one run.

    python benchmarks/generation_gpu.py [--sentences 512] [--beams 1 5] [--rounds 7] [--many 8192] [--profile]
        [--alone] [--out benchmarks/results/generation_gpu.txt]

The model has the size of Vaswani's base (512 wide, 6 + 6 layers, 32,768 tokens), and copies its source: its weights are
set by hand, so that every system has to write the same, and the share of sentences in which it does is told. Tokens
in, tokens out; figures are written tokens a second, each answer's end mark with them: the median of some rounds after
some that are not counted. Both write in bf16; transformers with SDPA, and with cuDNN's attention off, which plans anew
for every shape. Both search until no hypothesis can become better than the answers found, with scores that are means
over the length.

512 of 27     as many sentences as are written together, all of one length
mixed         --many sentences, lengths lognormal with a mean of 27; transformers gets them sorted, in batches of 512
--profile     a step of seqloom's, and what it and reading the sources are made of; where the host spends its time
--alone       seqloom, by heart, and no other: to see what a change brings
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from kernel_times import host_times, kernel_times
from machine import describe
from race.copying import copying_model
from race.systems.hugging_face import marian
from race.work import BASE, BEGIN, END, FIRST, LONGEST, PAD, padded, sentences
from seqloom.generation.contract import Item
from seqloom.generation.scorer import PairScorer
from seqloom.generation.search import write
from seqloom.generation.settings import GenerationSettings, MeanLength
from seqloom.generation.static_writing import Static
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.models.in_half import in_half

DEVICE = torch.device("cuda")
BATCH, LENGTH = 512, 27
WARM = 3  # rounds that are not counted: kernels are made, and steps recorded

Rows = list[list[int]]
Write = Callable[[Rows], Rows]


def network() -> EncoderDecoder:
    model = copying_model(BASE).eval()
    assert isinstance(model, EncoderDecoder)
    return model


def ours(beam: int, half: bool, by_heart: bool, batch: int = BATCH) -> tuple[PairScorer, Static | None, Write]:
    model = network().to(DEVICE)
    dtype = torch.bfloat16 if half else None
    kept = in_half(model, torch.bfloat16) if half else model
    assert isinstance(kept, EncoderDecoder)
    scorer = PairScorer(kept, BEGIN, END, never=[token for token in range(FIRST) if token != END], half=dtype)
    static = Static(scorer, note=print) if by_heart else None
    settings = GenerationSettings(beam=beam, batch=batch, length=MeanLength())

    def run(rows: Rows) -> Rows:
        items = [Item(row, number, LONGEST + 1) for number, row in enumerate(rows)]
        found = dict(write(scorer, items, settings, static=static))
        return [list(found[number][0].tokens) for number in range(len(rows))]

    return scorer, static, run


def theirs(beam: int) -> Write:
    model = marian(network()).to(DEVICE, torch.bfloat16)

    @torch.inference_mode()
    def run(rows: Rows) -> Rows:
        order, said = sorted(range(len(rows)), key=lambda at: -len(rows[at])), dict[int, list[int]]()
        for begin in range(0, len(order), BATCH):
            part = order[begin : begin + BATCH]
            given = [[*rows[at], END] for at in part]
            out = model.generate(
                padded(given, PAD, DEVICE),
                attention_mask=padded([[1] * len(row) for row in given], 0, DEVICE),
                num_beams=beam,
                do_sample=False,
                max_new_tokens=LONGEST + 1,
                length_penalty=1.0,
                early_stopping="never" if beam > 1 else False,
            )
            for at, row in zip(part, out.tolist(), strict=True):
                said[at] = [token for token in row if token > END]
        return [said[at] for at in range(len(rows))]

    return run


@dataclass(frozen=True)
class Figure:
    speed: float
    spread: float
    copied: float
    memory: float


def timed(run: Write, rows: Rows, rounds: int) -> Figure:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    speeds, said = [], Rows()
    for number in range(WARM + rounds):
        torch.cuda.synchronize()
        began = time.perf_counter()
        said = run(rows)
        torch.cuda.synchronize()
        took = time.perf_counter() - began
        if number >= WARM:
            speeds.append(sum(len(row) + 1 for row in said) / took)
    copied = sum(row == one for row, one in zip(rows, said, strict=True)) / len(rows)
    spread = (max(speeds) - min(speeds)) / statistics.median(speeds)
    return Figure(statistics.median(speeds), spread, copied, torch.cuda.max_memory_allocated() / 2**30)


def even(count: int) -> Rows:
    draw = torch.Generator().manual_seed(1)
    rows: Rows = torch.randint(FIRST, BASE.vocabulary, (count, LENGTH), generator=draw).tolist()
    return rows


def mixed(count: int) -> Rows:
    return [source[:-1] for source, _ in sentences(count, BASE.vocabulary, 1, LENGTH)]


def table(beams: Sequence[int], count: int, many: int, rounds: int, alone: bool) -> Iterator[str]:
    works = [(f"{count} of {LENGTH}", even(count), rounds)]
    works += [(f"mixed, {many}", mixed(many), min(rounds, 3))] if many else []
    for beam in beams:
        for name, rows, times in works:
            yield f"\n{'greedy' if beam == 1 else f'beam {beam}'}, {name}"
            whole = len(rows) > BATCH
            systems: dict[str, Callable[[], Write]] = {
                "transformers Marian": lambda beam=beam: theirs(beam),
                "seqloom, not by heart": lambda beam=beam: ours(beam, half=True, by_heart=False)[2],
                "seqloom, float32": lambda beam=beam: ours(beam, half=False, by_heart=True)[2],
                "seqloom": lambda beam=beam: ours(beam, half=True, by_heart=True)[2],
            }
            if whole:
                systems["seqloom, 4096 rows"] = lambda beam=beam: ours(beam, True, True, 4096 // beam)[2]
                del systems["seqloom, not by heart"], systems["seqloom, float32"]
            if alone:
                systems = {"seqloom": systems["seqloom"]}
            first = 0.0
            for system, build in systems.items():
                figure = timed(build(), rows, times if system.startswith("seqloom") else min(times, 3))
                first = first or figure.speed
                yield (
                    f"{system:24} {figure.speed / 1e3:8.0f} k tokens/s ± {figure.spread / 2:3.0%}  "
                    f"{figure.speed / first:5.1f}×  {figure.memory:5.1f} GiB  {figure.copied:6.1%} as they should be"
                )


def profile(beam: int, count: int) -> Iterator[str]:
    """What a step takes when it is played, and the kernels that it is made of."""
    _, static, run = ours(beam, half=True, by_heart=True)
    assert static is not None
    rows = even(count)
    for _ in range(WARM):
        run(rows)
    (frame,) = static._frames.values()
    recording = next(iter(frame._recordings.values()))
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(100):
        recording.play()
    torch.cuda.synchronize()
    step = (time.perf_counter() - began) / 100
    items = [Item(row, number, LONGEST + 1) for number, row in enumerate(rows)]
    began = time.perf_counter()
    for _ in range(5):
        static.scorer.start(items)
    asked = (time.perf_counter() - began) / 5
    torch.cuda.synchronize()
    start = (time.perf_counter() - began) / 5
    with static.tape.running(), torch.inference_mode():
        for _ in range(WARM):
            frame.intake.begin(range(count), items)
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(5):
            frame.intake.begin(range(count), items)
        torch.cuda.synchronize()
        read = (time.perf_counter() - began) / 5
        reading = list(kernel_times(lambda: frame.intake.begin(range(count), items)))
    frame.clear()
    yield (
        f"\nbeam {beam}: a step {step * 1e6:.0f} µs; to start {start * 1e3:.2f} ms ({asked * 1e3:.2f} ms to ask for), "
        f"by heart {read * 1e3:.2f} ms"
    )
    yield from kernel_times(recording.play)
    yield "reading the sources:"
    yield from reading
    yield from host_times(lambda: run(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=BATCH)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--many", type=int, default=8192, help="sentences of mixed lengths; 0: leave these out")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not torch.cuda.is_available():
        parser.exit(1, "generation_gpu.py: torch finds no GPU here\n")
    torch.backends.cuda.enable_cudnn_sdp(False)
    said = [describe()]
    print(said[0], flush=True)
    if given.profile:
        for beam in given.beams:
            for line in profile(beam, given.sentences):
                print(line, flush=True)
    for line in table(given.beams, given.sentences, given.many, given.rounds, given.alone):
        print(line, flush=True)
        said.append(line)
    if given.out:
        given.out.write_text("\n".join(said) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
