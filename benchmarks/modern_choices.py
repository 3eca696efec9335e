"""Which choices of transformer-modern pay at equal cost: each taken back alone, trained for the same time on Multi30k.

    python benchmarks/modern_choices.py DATA OUT [--recipe FILE] [--minutes 0.5] [--only NAME...] [--write]

DATA is a folder with Multi30k's tokenised files. All is scored on the validation part: the test plays no role in it.
The same command again goes on where it stopped. --write: only the recipes are made, in OUT/recipes, to be trained
elsewhere; `seqloom compare RUN…` makes the table of the runs.
"""

import argparse
import re
import sys
from pathlib import Path

import seqloom

HERE = Path(__file__).parent
RECIPE = HERE / "multi30k" / "transformer-modern.toml"

# of each: what is there, and what takes its place
MUON = r"^optimiser = .*"
NORM = r"^norm = .*"
FALL = r"^schedule = .*"
WITHOUT: dict[str, tuple[str, str]] = {
    "adam": (MUON, 'optimiser = { kind = "adam", rate = 0.002, betas = [0.9, 0.98] }'),
    "adam-slower": (MUON, 'optimiser = { kind = "adam", rate = 0.001, betas = [0.9, 0.98] }'),
    "layer-norm": (NORM, 'norm = { kind = "layer", place = "pre" }'),
    "post-norm": (NORM, 'norm = { kind = "layer", place = "post" }'),
    "relu": (r"^feed_forward = .*", 'feed_forward = {{ kind = "dense", width = {wider}, activation = "relu" }}'),
    "no-rotary": (r', relative = { kind = "rotary" }', ""),
    "no-query-norm": (r"qk_norm = true, ", ""),
    "no-average": (r"^ema = .*\n", ""),
    "cosine": (FALL, 'schedule = { kind = "cosine", warmup = 0.05 }'),
    "shallow-decoder": (r"^depth = 3\n", "depth = 3\nencoder = { depth = 5 }\ndecoder = { depth = 1 }\n"),
}


def without(text: str, name: str, recipe: Path) -> str:
    """A recipe with one choice taken back. Without a gate, a feed-forward layer is half as wide again."""
    there, instead = WITHOUT[name]
    if "{wider}" in instead:
        gated = re.search(r"feed_forward = .* width = (\d+)", text)
        instead = instead.format(wider=int(gated[1]) * 3 // 2) if gated else instead
    changed, count = re.subn(there, lambda found: instead, text, flags=re.MULTILINE)
    if count != 1:
        raise SystemExit(f"{recipe}: {there!r} stands {count} times in it, not once, for {name}")
    return changed


def recipes(recipe: Path, folder: Path, names: list[str]) -> list[Path]:
    text = recipe.read_text(encoding="utf-8")
    absent = [name for name in names if not re.search(WITHOUT[name][0], text, re.MULTILINE)]
    if absent:
        print(f"{recipe} does without already, and is not compared with: {', '.join(absent)}", file=sys.stderr)
    names = [name for name in names if name not in absent]
    made = {"transformer-modern": text, **{name: without(text, name, recipe) for name in names}}
    for name, content in made.items():
        (folder / f"{name}.toml").write_text(content, encoding="utf-8")
    return [folder / f"{name}.toml" for name in made]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--recipe", type=Path, default=RECIPE)
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--only", nargs="+", default=list(WITHOUT), choices=list(WITHOUT))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    folder = given.out / "recipes"
    folder.mkdir(parents=True, exist_ok=True)

    made = recipes(given.recipe, folder, given.only)
    if given.write:
        print(*made, sep="\n")
        return

    def pair(part: str) -> list[Path]:
        return [given.data / f"{part}.lc.norm.tok.{language}.gz" for language in ("en", "de")]

    print(
        seqloom.compare(
            made,
            data=pair("train"),
            valid=pair("val"),
            minutes=given.minutes,
            metrics=["bleu", "perplexity"],
            out=given.out / "compared",
        )
    )


if __name__ == "__main__":
    main()
