"""The chorales of Jsb16thSeparated.json(.gz) → folders of MIDI files: train/, valid/ and test/.

    python benchmarks/jsb_chorales/to_midi.py data/jsb_chorales/Jsb16thSeparated.json.gz data/jsb_midi

Each step of the data is a sixteenth with four pitches, soprano first, -1 for silence. A file has a track for each
voice, and reading it on the grid of sixteenths gives the same steps back, which is checked here.
"""

import gzip
import json
import sys
from pathlib import Path

from seqloom.music import Voices, read_events, read_midi, write_events, write_midi
from seqloom.music.voices import REST

GRID = Voices()


def main(source: Path, out: Path) -> None:
    opened = gzip.open if source.suffix == ".gz" else open
    with opened(source, "rt", encoding="utf-8") as file:
        splits = json.load(file)
    for name, chorales in splits.items():
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        tokens = 0
        for number, steps in enumerate(chorales, 1):
            words = [REST if pitch < 0 else str(int(pitch)) for step in steps for pitch in step]
            data = write_midi(read_events(words, GRID))
            back = write_events(read_midi(data), GRID)
            if back != words:
                print(f"{name}/{number:03}: {len(words)} events, {len(back)} when read again")
            (folder / f"{number:03}.mid").write_bytes(data)
            tokens += len(back)
        print(f"{name}: {len(chorales)} chorales, {tokens:,} events")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
