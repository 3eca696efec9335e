"""The figures of docs/results/classify.md: train on each set, choose on validation, score the test once.

    python benchmarks/classify.py DATA OUT [japanese-vowels|basic-motions|digits|trec|sst2|intents|slots]...

DATA is a folder with uea_motion, snips and text_classification, and for word vectors wikitext2, tatoeba_deu_eng and
multi30k. What is made (tables, vectors, runs) goes to OUT; the same command again goes on where it stopped. Each set is
trained with several seeds, which are also scored together.
"""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import seqloom
from seqloom.data.reading import Shape, read
from seqloom.data.settings import corpora_of
from seqloom.evaluation.build import LabelMetric, label_metric
from seqloom.evaluation.report import Counts, report
from seqloom.evaluation.settings import EvaluationSettings
from seqloom.jobs.answering.answer import Question

HERE = Path(__file__).parent
RECIPES = HERE.parent / "recipes"


@dataclass(frozen=True)
class Files:
    train: Path
    test: Path
    valid: Path | None = None


@dataclass(frozen=True)
class Set:
    """Recipes, the files for each seed, and what is scored."""

    recipes: tuple[Path, ...]
    files: Callable[[Path, Path, int], Files]
    shape: Shape
    metric: LabelMetric
    seeds: int
    changes: tuple[str, ...] = ()
    together: bool = True
    """whether all recipes and seeds answer the same test"""
    vectors: int | None = None
    """how wide the word vectors are that it begins from, made of the training texts and of other text in DATA"""


def archive(name: str) -> Callable[[Path, Path, int], Files]:
    def files(data: Path, out: Path, seed: int) -> Files:
        return Files(*(data / "uea_motion" / f"{name}_{part}.ts.gz" for part in ("TRAIN", "TEST")))

    return files


def digits(data: Path, out: Path, seed: int) -> Files:
    folder = out / f"digits-{seed}"
    subprocess.run([sys.executable, str(HERE / "digits" / "split.py"), str(seed), str(folder)], check=True)
    return Files(folder / "train.npz", folder / "test.npz")


def labelled(name: str, valid: str | None = None) -> Callable[[Path, Path, int], Files]:
    """`label text` a line → a text and its label between tabs."""

    def files(data: Path, out: Path, seed: int) -> Files:
        made = {}
        for part in ("train", "test", *([valid] if valid else [])):
            file = next((data / "text_classification").glob(f"{name}.{part}*"))
            rows = (line.partition(" ") for line in lines(file))
            made[part] = write(out / f"{name}.{part}.tsv", (f"{text}\t{label}" for label, _, text in rows))
        return Files(made["train"], made["test"], made[valid] if valid else None)

    return files


def snips(slots: bool) -> Callable[[Path, Path, int], Files]:
    def files(data: Path, out: Path, seed: int) -> Files:
        return Files(*(part(data, out, name) for name in ("train", "test", "valid")))

    def part(data: Path, out: Path, name: str) -> Path:
        texts, tags, labels = (
            lines(next((data / "snips").glob(f"{name}.{kind}*"))) for kind in ("seq.in", "seq.out", "label")
        )
        if not slots:
            pairs = (f"{text.strip()}\t{label}" for text, label in zip(texts, labels, strict=True))
            return write(out / f"snips.{name}.tsv", pairs)
        words = (
            "".join(f"{word}\t{tag}\n" for word, tag in zip(text.split(), row.split(), strict=True))
            for text, row in zip(texts, tags, strict=True)
        )
        return write(out / f"snips.{name}.conll", words)

    return files


def lines(file: Path) -> list[str]:
    content = file.read_bytes()
    return (gzip.decompress(content) if file.suffix == ".gz" else content).decode().splitlines()


def write(file: Path, rows: object) -> Path:
    file.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")  # type: ignore[attr-defined]
    return file


def vectors(data: Path, out: Path, train: Path, width: int) -> Path:
    file = out / f"vectors-{train.stem}-{width}.txt"
    texts = (
        data / "wikitext2" / "wiki.train.tokens.gz",
        data / "tatoeba_deu_eng" / "deu.txt.gz",
        data / "multi30k" / "tok" / "train.lc.norm.tok.en.gz",
        train,
    )
    if not file.exists():
        script = HERE / "text_classification" / "vectors.py"
        subprocess.run([sys.executable, script, file, str(width), *texts], check=True)
    return file


TREC = tuple(HERE / "text_classification" / f"trec-{how}.toml" for how in ("words", "letters", "subwords", "recurrent"))
INTENTS = tuple(HERE / "snips" / f"{name}.toml" for name in ("intents", "intents-recurrent", "intents-subwords"))

SETS = {
    "japanese-vowels": Set((RECIPES / "motion-classifier.toml",), archive("JapaneseVowels"), "series", "accuracy", 3),
    "basic-motions": Set(
        (RECIPES / "motion-classifier.toml",), archive("BasicMotions"), "series", "accuracy", 3, ("training.epochs=40",)
    ),
    "digits": Set((HERE / "digits" / "pixels.toml",), digits, "series", "accuracy", 5, together=False),
    "trec": Set(TREC, labelled("TREC"), "classes", "accuracy", 2, vectors=128),
    "sst2": Set((RECIPES / "text-classifier.toml",), labelled("stsa.binary", "dev"), "classes", "accuracy", 3),
    "intents": Set(INTENTS, snips(slots=False), "classes", "accuracy", 2),
    "slots": Set((HERE / "snips" / "slots.toml",), snips(slots=True), "tags", "span-f1", 3),
}


def score(runs: Sequence[Path], test: Path, one: Set) -> str:
    """With its interval."""
    model = seqloom.load(list(runs))
    blocks = list(read(corpora_of([str(test)])[0], one.shape))
    sources = [Question(tuple(x) if isinstance(x, list) else x) for block in blocks for x in block.columns[0]]
    wanted = [label if isinstance(label, list) else [label] for block in blocks for label in block.columns[1]]
    said = [[piece.text for piece in answer.pieces] for answer in model.predict(sources)]
    metric = label_metric(one.metric, wanted, said)
    found = report(["x"], [Counts(metric, (metric.statistics(said, [wanted]),))], EvaluationSettings()).measured[0]
    return f"{found.score:.2f} ({found.interval.low:.2f} – {found.interval.high:.2f})"


def main() -> None:
    data, out, *names = sys.argv[1:]
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or SETS:
        one, runs, files = SETS[name], list[Path](), None
        for recipe, seed in ((recipe, seed) for recipe in one.recipes for seed in range(1, one.seeds + 1)):
            files = one.files(Path(data), folder, seed)
            runs.append(folder / "runs" / f"{name}-{recipe.stem}-{seed}")
            changes = [f"training.seed={seed}", *one.changes]
            if one.vectors is not None and "vectors.txt" in recipe.read_text(encoding="utf-8"):
                made = vectors(Path(data), folder, files.train, one.vectors)
                changes.append(f"model.input.vectors={made}")
            trained = seqloom.train(
                recipe, data=files.train, valid=files.valid or (), out=runs[-1], changes=changes, view="none"
            )
            valid = json.dumps({metric: round(value, 3) for metric, value in trained.scores.items()})
            print(f"{runs[-1].name}: validation {valid}; test {score(runs[-1:], files.test, one)}", flush=True)
        if one.together and files is not None:
            print(f"{name} together: test {score(runs, files.test, one)}", flush=True)


if __name__ == "__main__":
    main()
