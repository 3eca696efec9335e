"""Sentences a second: seqloom's search and CTranslate2, with the same weights, in one run.

    python benchmarks/generation_ctranslate2.py RUN FILE [--sentences 1000] [--beams 1 5] [--batches 512 64 1]
        [--types float32 int8] [--rounds 3]

CTranslate2 is no dependency: install it beside (`pip install ctranslate2`). It gets all sentences at once, sorts them
itself, and takes batches of so many sentences; seqloom takes those of its own choice. A batch of 1: one sentence after
the other, for both. Text goes in and comes out on both sides. Ratios above 1: seqloom is faster.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import seqloom
from generation import LONGEST, own, timed
from machine import describe
from seqloom.export.ctranslate2_model import convert
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END, UNKNOWN

try:
    import ctranslate2
except ImportError:
    sys.exit("generation_ctranslate2.py: ctranslate2 is not installed; pip install ctranslate2, and run it again")


def peer(folder: Path, kind: str, task: TranslateTask, beam: int, batch: int) -> Callable[[Sequence[str]], list[str]]:
    translator = ctranslate2.Translator(str(folder), device="cpu", compute_type=kind, inter_threads=1, intra_threads=2)

    def write(texts: Sequence[str]) -> list[str]:
        rows = [[str(token) for token in (*row, END)] for row in task.codecs.source.encode(list(texts))]
        found = translator.translate_batch(
            rows, beam_size=beam, max_batch_size=batch, max_decoding_length=LONGEST, length_penalty=1.0
        )
        return task.target.decode_many([[int(token) for token in one.hypotheses[0]] for one in found])

    return write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--batches", type=int, nargs="+", default=[512, 64, 1])
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--types", nargs="+", default=["float32", "int8"])
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    model = seqloom.load(asked.run, device="cpu")
    network, task = model.networks[0], model.task
    assert isinstance(network, EncoderDecoder)
    assert isinstance(task, TranslateTask)
    texts = asked.file.read_text(encoding="utf-8").splitlines()[: asked.sentences]
    print(f"{describe()}; ctranslate2 {ctranslate2.__version__}")
    with tempfile.TemporaryDirectory() as name:
        convert(network, Path(name) / "model", BEGIN, END, UNKNOWN)
        for batch in asked.batches:
            some = texts if batch > 1 else texts[:: max(1, len(texts) // 64)]
            batches = [some] if batch > 1 else [[text] for text in some]
            for beam in asked.beams:
                kinds = {kind: peer(Path(name) / "model", kind, task, beam, batch) for kind in asked.types}
                systems = {"seqloom": own(model, beam, 1 if batch == 1 else None, "own"), **kinds}
                times: dict[str, list[float]] = {kind: [] for kind in systems}
                said = dict[str, list[str]]()
                for write in systems.values():
                    write(some[:64])
                for _ in range(asked.rounds):
                    for kind, write in systems.items():
                        took, said[kind] = timed(write, batches)
                        times[kind].append(took)
                each = {kind: len(some) / statistics.median(found) for kind, found in times.items()}
                for kind in asked.types:
                    equal = sum(a == b for a, b in zip(said["seqloom"], said[kind], strict=True)) / len(some)
                    print(
                        f"batch {batch:3}  beam {beam}:  seqloom {each['seqloom']:7.1f}/s   ctranslate2 {kind:7} "
                        f"{each[kind]:7.1f}/s   {each['seqloom'] / each[kind]:.2f}×   {equal:.1%} equal texts",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
