"""Which choices of transformer-modern pay at equal cost: each taken back alone, trained for the same time on Multi30k.

    python benchmarks/modern_choices.py DATA OUT [--minutes 0.5] [--only NAME...]

DATA is a folder with Multi30k's tokenised files. All is scored on the validation part: the test plays no role in it.
The same command again goes on where it stopped.
"""

import argparse
from pathlib import Path

import seqloom

HERE = Path(__file__).parent
RECIPE = HERE / "multi30k" / "transformer-modern.toml"
MUON = 'optimiser = { kind = "muon", rate = 0.01, others = { rate = 0.003, decay = 0.0 } }'
NORM = 'norm = { kind = "rms", place = "pre" }'
GATED = 'feed_forward = { kind = "dense", width = 704, activation = "silu", gated = true, bias = false }'

WITHOUT: dict[str, tuple[tuple[str, str], ...]] = {
    "adam": ((MUON, 'optimiser = { kind = "adam", rate = 0.002, betas = [0.9, 0.98] }'),),
    "adam-slower": ((MUON, 'optimiser = { kind = "adam", rate = 0.001, betas = [0.9, 0.98] }'),),
    "layer-norm": ((NORM, 'norm = { kind = "layer", place = "pre" }'),),
    "post-norm": ((NORM, 'norm = { kind = "layer", place = "post" }'),),
    "relu": ((GATED, 'feed_forward = { kind = "dense", width = 1056, activation = "relu" }'),),
    "no-rotary": ((', relative = { kind = "rotary" }', ""),),
    "no-query-norm": (("qk_norm = true, ", ""),),
    "no-average": (("ema = { decay = 0.995 }\n", ""),),
    "cosine": (('{ kind = "warmup-stable-decay", warmup = 0.05, decay = 0.5 }', '{ kind = "cosine", warmup = 0.05 }'),),
    "shallow-decoder": (("depth = 3\n", "depth = 3\nencoder = { depth = 5 }\ndecoder = { depth = 1 }\n"),),
}


def recipes(folder: Path, names: list[str]) -> list[Path]:
    text = RECIPE.read_text(encoding="utf-8")
    made = [folder / "transformer-modern.toml"]
    made[0].write_text(text, encoding="utf-8")
    for name in names:
        changed = text
        for old, new in WITHOUT[name]:
            if old not in changed:
                raise SystemExit(f"{RECIPE}: no {old!r} to take back for {name}")
            changed = changed.replace(old, new)
        made.append(folder / f"{name}.toml")
        made[-1].write_text(changed, encoding="utf-8")
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--only", nargs="+", default=list(WITHOUT), choices=list(WITHOUT))
    given = parser.parse_args()
    folder = given.out / "recipes"
    folder.mkdir(parents=True, exist_ok=True)

    def pair(part: str) -> list[Path]:
        return [given.data / f"{part}.lc.norm.tok.{language}.gz" for language in ("en", "de")]

    print(
        seqloom.compare(
            recipes(folder, given.only),
            data=pair("train"),
            valid=pair("val"),
            minutes=given.minutes,
            metrics=["bleu", "perplexity"],
            out=given.out / "compared",
        )
    )


if __name__ == "__main__":
    main()
