"""Music from end to end: files → a run → pieces that can be played."""

import math
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import seqloom
from seqloom.jobs.comparing import work
from seqloom.jobs.comparing.worker import done
from seqloom.music import Note, Piece, Voices, read_midi, write_events, write_midi
from seqloom.music.piece import DRUMS
from seqloom.settings import UserError
from tests.cli.run import run

RECIPE = """
[task]
kind = "music"
events = { kind = "voices", voices = 2 }
context = 64

[text]
source = { kind = "words" }

[model]
family = "decoder-only"
width = 32
depth = 1
mixer = { kind = "attention", heads = 2, relative = { kind = "music", distance = 16 } }
feed_forward = { kind = "dense", width = 64 }
positions = { kind = "sinusoidal" }

[training]
steps = 150
batch = 512
validate_every = 50
optimiser = { kind = "adam", rate = 0.01 }
"""


def scale(first: int, steps: int = 16) -> Piece:
    """Up and down again, a voice twelve semitones below."""
    tune = [first + (0, 2, 4, 5)[step % 4] for step in range(steps)]
    notes = [Note(n / 4, (n + 1) / 4, pitch - below, part=below) for n, pitch in enumerate(tune) for below in (0, 12)]
    return Piece(tuple(sorted(notes)))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("music")
    (folder / "pieces").mkdir()
    for number in range(8):
        (folder / "pieces" / f"{number}.mid").write_bytes(write_midi(scale(60 + number % 2)))
    (folder / "pieces" / "bad.mid").write_bytes(write_midi(scale(60))[:60])
    (folder / "r.toml").write_text(RECIPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQLOOM_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        stopped = run("train", "r.toml", "--data", "pieces", "--valid", "pieces/0.mid", "--out", "runs/m")
        assert stopped.code == 2
        assert "pieces/bad.mid: the MIDI file ends too early" in stopped.error
        done = run("train", "r.toml", "--data", "pieces", "--valid", "pieces/0.mid", "--out", "runs/m", "--skip-bad")
    assert done.code == 0, done.error
    assert "pieces: 1 left out: MIDI that cannot be read (pieces/bad.mid)" in done.error
    assert "next: seqloom predict runs/m --out new.mid" in done.error
    return folder


@pytest.fixture
def place(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return trained


def words(path: str) -> list[str]:
    return write_events(read_midi(Path(path).read_bytes()), Voices(voices=2))


def test_a_prompt_goes_on_as_it_was_learnt(place: Path) -> None:
    Path("prompt.mid").write_bytes(write_midi(scale(61, 6)))
    done = run("predict", f"{place}/runs/m", "prompt.mid", "--out", "on.mid", "--beam", "1")
    assert done.code == 0, done.error
    assert words("on.mid")[:32] == write_events(scale(61), Voices(voices=2))
    assert "3.6 s given" not in done.error  # 1.5 beats, which a grid sings at 0.6 seconds each
    assert "0.9 s given" in done.error
    ET.fromstring(Path("on.svg").read_text())


def test_from_nothing_and_several_by_chance(place: Path) -> None:
    done = run("predict", f"{place}/runs/m", "--sample", "--n-best", "2", "--out", "new.mid")
    assert done.code == 0, done.error
    assert all(words(f"new-{number}.mid") for number in (1, 2))


def test_what_is_no_event_is_refused(place: Path) -> None:
    """Only Python and HTTP can ask with it: the command line reads MIDI files."""
    with pytest.raises(UserError, match="text 1: 'do' is no event of music, such as "):
        seqloom.load(place / "runs/m").predict("do re mi")


def test_the_same_seed_draws_the_same(place: Path) -> None:
    for name in ("a.mid", "b.mid"):
        assert run("predict", f"{place}/runs/m", "--sample", "--set", "generation.seed=4", "--out", name).code == 0
    assert Path("a.mid").read_bytes() == Path("b.mid").read_bytes()


def test_a_long_prompt_is_read_from_its_end_and_kept_whole(place: Path) -> None:
    Path("long.mid").write_bytes(write_midi(scale(60, 80)))
    done = run("predict", f"{place}/runs/m", "long.mid", "--out", "on.mid", "--set", "generation.longest=8")
    assert done.code == 0, done.error
    assert "of 160 events the model reads the last 64" in done.error
    assert words("on.mid")[:160] == words("long.mid")


def test_look_reads_midi_as_a_prompt(place: Path) -> None:
    Path("short.mid").write_bytes(write_midi(scale(60, 6)))
    shown = run("look", f"{place}/runs/m", "short.mid")
    assert (shown.code, shown.error) == (0, "")
    assert " ".join(words("short.mid")) in Path("look.html").read_text()
    Path("long.mid").write_bytes(write_midi(scale(60, 80)))
    shown = run("look", f"{place}/runs/m", "long.mid", "-o", "long.html")
    assert shown.error == "long.mid: shows the last 64 of 160 events\n"
    assert " ".join(words("long.mid")[-64:]) in Path("long.html").read_text()
    Path("a.txt").write_text("do re mi")
    assert run("look", f"{place}/runs/m", "a.txt").error == "a.txt: a prompt is a MIDI file (.mid, .midi)\n"
    Path("drums.mid").write_bytes(write_midi(Piece((Note(0, 1, 36, program=DRUMS),))))
    shown = run("look", f"{place}/runs/m", "drums.mid")
    assert shown.error == "drums.mid: nothing but drums, which the model does not read; take another file\n"


def test_how_likely_pieces_are(place: Path) -> None:
    """The perplexity is of all events and one end for each piece, in the parts of a validation."""
    found = seqloom.evaluate(f"{place}/runs/m", data=str(place / "pieces" / "1.mid")).scores
    (score,) = found["m"].values() if isinstance(next(iter(found.values())), dict) else found.values()
    model = seqloom.load(f"{place}/runs/m")
    text = " ".join(words(str(place / "pieces" / "1.mid")))
    scored = model.score(text)
    assert len(scored.pieces) == 33
    assert score == pytest.approx(math.exp(-scored.log_prob / 33), rel=1e-4)


def test_long_and_short_pieces_are_told_apart_by_events(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "work_apart", done)  # starting another process takes seconds
    Path("test").mkdir()
    for steps in (4, 8, 16, 24):
        Path(f"test/{steps}.mid").write_bytes(write_midi(scale(60, steps)))
    scored = run("evaluate", f"{place}/runs/m", "--data", "test").out.splitlines()
    at = scored.index("by events")
    assert [line.split()[0] for line in scored[at + 1 : at + 6]] == ["events", "8", "16", "32", "48"]
    compared = run("compare", f"{place}/runs/m", "--test", "test").out.splitlines()
    at = compared.index("perplexity ↓ by events")
    assert compared[at + 1].split() == ["system", "8", "16", "32", "48"]
    assert not [line for line in (*scored, *compared) if "reference words" in line]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "music goes to a file: --out new.mid"),
        (("--out", "x.wav"), "--out x.wav: music is written as MIDI; name a file that ends in .mid"),
        (("--out", "no/x.mid"), "there is no folder no"),
        (("prompt.txt", "--out", "x.mid"), "prompt.txt: a prompt is a MIDI file"),
        (("none.mid", "--out", "x.mid"), "none.mid: no such file"),
        (("bad.mid", "--out", "x.mid"), "bad.mid: no MIDI file, or a damaged one"),
        (("--out", "there.mid"), "there.mid: is there already"),
        (("--out", "x.mid", "--scores"), "--scores: music is written as a MIDI file; leave it out"),
        (("--out", "x.mid", "--format", "tsv"), "--format tsv: music is written as a MIDI file"),
    ],
)
def test_mistakes(place: Path, arguments: tuple[str, ...], why: str) -> None:
    Path("bad.mid").write_bytes(b"garbage that is long enough")
    Path("there.mid").write_bytes(b"")
    found = run("predict", f"{place}/runs/m", *arguments)
    assert found.code == 2
    assert why in found.error


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("rnn-lm", "--data", "pieces"), "MIDI files are for the task music, and this recipe is for language"),
        (("r.toml", "--data", "text.txt"), "the task music reads MIDI files"),
    ],
)
def test_files_and_tasks_that_do_not_belong_together(
    trained: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], why: str
) -> None:
    monkeypatch.chdir(trained)
    Path("text.txt").write_text("no music\n")
    found = run("train", *words, "--out", "runs/other")
    assert found.code == 2
    assert why in found.error


def test_without_a_recipe_music_is_recognised(trained: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path))
    monkeypatch.chdir(trained)
    words = ("--set", "training.steps=1", "--set", "training.batch=200", "--set", "model.width=16", "--skip-bad")
    found = run("train", "--data", *sorted(map(str, Path("pieces").glob("*.mid"))), *words)
    assert found.code == 0, found.error
    assert "the data looks like music (words)" in found.error
    assert "run folder: runs/pieces" in found.error
