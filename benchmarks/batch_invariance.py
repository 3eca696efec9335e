"""Does what a model says depend on the batch? Texts that differ between batches of 1, 7 and 64, of a trained model.

python benchmarks/batch_invariance.py RUN FILE [--sentences 1000] [--beams 1 5] [--batches 1 7 64]

"""

import argparse
import time
from pathlib import Path

import seqloom
from machine import describe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 7, 1])
    asked = parser.parse_args()
    model = seqloom.load(asked.run)
    texts = asked.file.read_text(encoding="utf-8").splitlines()[: asked.sentences]
    print(describe())
    for beam in asked.beams:
        said = dict[int, list[str]]()
        scores = dict[int, list[float]]()
        for batch in asked.batches:
            began = time.perf_counter()
            answers = model.predict(texts, beam=beam, changes=[f"generation.batch={batch}"])
            said[batch], scores[batch] = [str(one) for one in answers], [one.score for one in answers]
            first = asked.batches[0]
            differ = sum(one != other for one, other in zip(said[batch], said[first], strict=True))
            off = max(abs(one - other) for one, other in zip(scores[batch], scores[first], strict=True))
            print(
                f"beam {beam}  batch {batch:3}: {differ} of {len(texts)} texts differ from batch {first}; "
                f"scores by at most {off:.1e}; {time.perf_counter() - began:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
