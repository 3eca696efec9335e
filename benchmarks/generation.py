"""Sentences a second: seqloom's search and transformers' generate, with the same weights, in one run.

    seqloom train benchmarks/marian.toml --data train.en train.de --out runs/marian
    python benchmarks/generation.py runs/marian test.en [--sentences 500] [--batches 64 1] [--beams 1 5] [--rounds 3]
        [--order sorted|file] [--same-batch]

The run's model is put into transformers' Marian, and both say the same to one batch before anything is timed. They
take turns, so that a busy machine is busy for both. transformers gets the sentences in batches, sorted by length or
in the file's order; seqloom gets them all, sorts and groups them itself, in batches of its own choice unless
--same-batch is said. A batch of 1: one sentence after the other, for both. Both search until no hypothesis can become
better than the answers found (early_stopping="never" there), with scores that are means over the length. The share of
equal texts is told. Ratios above 1: seqloom is faster. Where CTranslate2 is installed, greedy writing is timed a second
time with generation.engine = "auto", and what was chosen is told.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import torch
from transformers import MarianMTModel

import seqloom
from machine import describe
from race.systems.hugging_face import marian
from race.systems.hugging_face import writing as peer
from race.systems.own import answering
from seqloom.export.ctranslate2_engine import installed
from seqloom.jobs.model import Model
from seqloom.layers.layout import Padded
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.tasks.translate import TranslateTask

LONGEST = 100
CHOOSING = 3  # rounds in which an engine is chosen, before it is timed


def own(
    model: Model, beam: int, batch: int | None, engine: Literal["auto", "own"]
) -> Callable[[Sequence[str]], list[str]]:
    """As `seqloom predict` writes texts. auto: by CTranslate2, where that is installed and measures faster."""
    changes = [f"generation.longest={LONGEST}", 'generation.length={kind="mean"}', f'generation.engine="{engine}"']
    changes += [] if batch is None else [f"generation.batch={batch}"]
    return answering(model, changes, beam)


def check(model: Model, theirs: MarianMTModel) -> None:
    """The first scores, for a few sources of one length."""
    ours = model.networks[0]
    assert isinstance(ours, EncoderDecoder)
    x_BT, y_BT = torch.randint(5, 500, (3, 7)), torch.randint(5, 500, (3, 9))
    with torch.inference_mode():
        said = ours.scores(ours(x_BT, Padded.whole(3, 7), y_BT, Padded.whole(3, 9)))
        theirs_said = theirs(x_BT, decoder_input_ids=y_BT).logits
    apart = (said - theirs_said).abs().max().item()
    assert apart < 1e-3, f"not the same model: scores differ by {apart}"


def timed(write: Callable[[Sequence[str]], list[str]], batches: list[list[str]]) -> tuple[float, list[str]]:
    began = time.perf_counter()
    said = [text for batch in batches for text in write(batch)]
    return time.perf_counter() - began, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--batches", type=int, nargs="+", default=[64])
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--order", choices=["sorted", "file"], default="sorted", help="of transformers' batches")
    parser.add_argument("--same-batch", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    model = seqloom.load(asked.run, device="cpu")
    assert isinstance(model.task, TranslateTask)
    network = model.networks[0]
    assert isinstance(network, EncoderDecoder)
    theirs = marian(network)
    check(model, theirs)
    lines = asked.file.read_text(encoding="utf-8").splitlines()[: asked.sentences]
    source = model.task.codecs.source
    texts = lines if asked.order == "file" else sorted(lines, key=lambda text: len(source.encode([text])[0]))
    machine, results = describe(), []
    print(machine)
    for batch in asked.batches:
        some = texts if batch > 1 else texts[:: max(1, len(texts) // 64)]
        batches = [some[i : i + batch] for i in range(0, len(some), batch)]
        for beam in asked.beams:
            same = batch if asked.same_batch or batch == 1 else None
            systems = {
                "seqloom": own(model, beam, same, "own"),
                "engine": own(model, beam, same, "auto"),
                "transformers": peer(theirs, model.task, beam),
            }
            systems = {
                name: write for name, write in systems.items() if name != "engine" or (installed() and beam == 1)
            }
            times: dict[str, list[float]] = {name: [] for name in systems}
            said = dict[str, list[str]]()
            # one sentence after the other is asked for so, and so the engine is chosen
            given = {name: batches if batch == 1 or name == "transformers" else [some] for name in systems}
            for name, write in systems.items():
                for _ in range(CHOOSING if name == "engine" else 1):
                    timed(write, given[name] if name == "engine" else batches[:1])
            chosen = "; ".join(model.engine_notes())
            for _ in range(asked.rounds):
                for name, write in systems.items():
                    # all at once for ours: it cuts the batches itself, and refills them
                    took, said[name] = timed(write, given[name])
                    times[name].append(took)
            best = {name: statistics.median(found) for name, found in times.items()}
            equal = sum(a == b for a, b in zip(said["seqloom"], said["transformers"], strict=True)) / len(some)
            results.append(
                {
                    "batch": batch,
                    "beam": beam,
                    "sentences": len(some),
                    "ratio": best["transformers"] / best["seqloom"],
                    "engine": chosen,
                    "per second": {name: len(some) / each for name, each in best.items()},
                    "equal texts": equal,
                }
            )
            print(
                f"batch {batch:3}  beam {beam}:  seqloom {len(some) / best['seqloom']:7.1f}/s   "
                f"transformers {len(some) / best['transformers']:7.1f}/s   {results[-1]['ratio']:.2f}×   "
                f"{equal:.1%} equal texts",
                flush=True,
            )
            if "engine" in best:
                same_texts = sum(a == b for a, b in zip(said["engine"], said["transformers"], strict=True)) / len(some)
                print(
                    f"   with an engine chosen: {len(some) / best['engine']:7.1f}/s   "
                    f"{best['transformers'] / best['engine']:.2f}×   {same_texts:.1%} equal texts   {chosen}",
                    flush=True,
                )
    if asked.out:
        asked.out.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
