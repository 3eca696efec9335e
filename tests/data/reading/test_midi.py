"""MIDI files and folders of them: each is an example; what cannot be read is told by its file."""

import gzip
from pathlib import Path

import pytest
from pydantic import ValidationError

from seqloom.data.reading import DataError, fingerprint, kept_events, midi, read, size
from seqloom.data.reading.midi import files_of
from seqloom.data.settings import Corpus, corpora_of
from seqloom.music import DRUMS, Note, Performance, Piece, Voices, write_midi

ONE, OTHER = Piece((Note(0, 1, 60), Note(1, 2, 62))), Piece((Note(0, 1, 72),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.mid").write_bytes(write_midi(ONE))
    (tmp_path / "b" / "c.MIDI").write_bytes(write_midi(OTHER))
    (tmp_path / ".hidden.mid").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("no music")
    return tmp_path


def texts(corpus: Corpus, bad: str = "stop") -> list[str]:
    return [text for block in read(corpus, "text", bad) for text in block.columns[0]]  # type: ignore[arg-type]


def test_a_folder_is_all_its_midi_files(folder: Path) -> None:
    (corpus,) = corpora_of([str(folder)])
    assert files_of(corpus) == (str(folder / "a.mid"), str(folder / "b" / "c.MIDI"))
    found = texts(corpus)
    assert found[0].startswith("velocity-20 on-60 shift-50 off-60 on-62")
    assert found[1].startswith("velocity-20 on-72")
    assert size(corpus) == sum(Path(name).stat().st_size for name in files_of(corpus))


def test_any_number_of_files_are_one_corpus(folder: Path) -> None:
    files = [str(folder / "a.mid"), str(folder / "b" / "c.MIDI"), str(folder / "a.mid")]
    (corpus,) = corpora_of(files)
    assert len(texts(corpus)) == 3


def test_the_same_music_has_the_same_fingerprint_and_other_music_another(folder: Path) -> None:
    names = [str(folder / "a.mid"), str(folder / "b" / "c.MIDI")]
    (whole,), (each,), (first,) = corpora_of([str(folder)]), corpora_of(names), corpora_of(names[:1])
    assert fingerprint(whole) == fingerprint(each) != fingerprint(first)


def test_packed_files(tmp_path: Path) -> None:
    path = tmp_path / "a.mid.gz"
    path.write_bytes(gzip.compress(write_midi(ONE)))
    assert len(texts(*corpora_of([str(path)]))) == 1


def test_how_it_is_read_is_a_setting(folder: Path) -> None:
    corpus = Corpus(files=(str(folder / "a.mid"),), events=Voices(voices=1))
    assert texts(corpus) == ["60 60 60 60 62 62 62 62"]


def test_a_bad_file_is_named_and_harms_no_other(folder: Path) -> None:
    (folder / "b" / "bad.mid").write_bytes(write_midi(ONE)[:40])
    (folder / "c.mid").write_bytes(b"garbage")
    (corpus,) = corpora_of([str(folder)])
    with pytest.raises(DataError) as raised:
        texts(corpus)
    assert str(raised.value) == (
        f"{folder}/b/bad.mid: the MIDI file ends too early; copy or download it again, or remove it, or pass --skip-bad"
    )
    assert len(texts(corpus, "skip")) == 2
    places = [
        place for block in read(corpus, "text", "skip") for each in block.report.places.values() for place in each
    ]
    assert places == [f"{folder}/b/bad.mid", f"{folder}/c.mid"]


@pytest.mark.parametrize(
    ("damaged", "why"),
    [
        (gzip.compress(write_midi(ONE), mtime=0)[:-20], "the gzip file ends too early; copy or download it again"),
        (write_midi(ONE), "not gzip, or damaged; copy it again, or take the ending off if it is not packed"),
    ],
)
def test_a_packed_file_that_is_damaged_harms_no_other(folder: Path, damaged: bytes, why: str) -> None:
    (folder / "bad.mid.gz").write_bytes(damaged)
    (corpus,) = corpora_of([str(folder), str(folder / "bad.mid.gz")])
    with pytest.raises(DataError, match=rf"bad\.mid\.gz: near byte \d+: {why}, or pass --skip-bad"):
        texts(corpus)
    assert len(texts(corpus, "skip")) == 2


def test_faults_are_counted_by_what_they_are(folder: Path) -> None:
    (folder / "a.mid").write_bytes(write_midi(Piece(())))
    (folder / "c.mid").write_bytes(write_midi(Piece((Note(0, 1, 36, program=DRUMS),))))
    two = bytearray(write_midi(ONE))
    two[9] = 2  # the format
    (folder / "d.mid").write_bytes(two)
    (folder / "e.mid").write_bytes(two[:30])
    (corpus,) = corpora_of([str(folder)])
    counts = [reason for block in read(corpus, "text", "skip") for reason in block.report.counts]
    kinds = ["MIDI without a note", "MIDI of drums alone", "MIDI of several songs", "MIDI that cannot be read"]
    assert sorted(counts) == sorted(kinds)


@pytest.mark.parametrize(
    ("piece", "events", "why"),
    [
        (
            Piece((Note(0, 1, 36, program=DRUMS),)),
            Performance(),
            r"nothing but drums \(1 strokes\); set task.events.inst",
        ),
        (ONE, Voices(voices=1), None),
        (Piece((Note(0, 1, 60), Note(0, 1, 64))), Voices(voices=1), "2 notes sound at once at beat 0.*set more voices"),
    ],
)
def test_what_the_events_cannot_say(
    tmp_path: Path, piece: Piece, events: Performance | Voices, why: str | None
) -> None:
    path = tmp_path / "x.mid"
    path.write_bytes(write_midi(piece))
    corpus = Corpus(files=(str(path),), events=events)
    if why is None:
        assert texts(corpus)
        return
    with pytest.raises(DataError, match=why):
        texts(corpus)


def test_large_files_are_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEQLOOM_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "x.mid"
    path.write_bytes(write_midi(Piece(tuple(Note(n / 2, n / 2 + 0.4, 40 + n % 50) for n in range(4000)))))
    assert path.stat().st_size > kept_events.LARGE
    corpus, other = (Corpus(files=(str(path),), events=events) for events in (Performance(), Voices(voices=1)))
    found = texts(corpus)
    monkeypatch.setattr(midi, "read_midi", lambda data: ONE)
    assert texts(corpus) == found
    assert texts(other) == ["60 60 60 60 62 62 62 62"]  # other events are not taken for these


def test_a_folder_without_music(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no MIDI file in this folder"):
        texts(Corpus(files=(str(tmp_path),), format="midi"))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"files": ("a.mid",), "source": "1"}, "MIDI files have no columns"),
        ({"files": ("a.tsv",), "events": {"kind": "voices"}}, "only MIDI files are read as events"),
        ({"files": ("a.tsv", "b.tsv", "c.tsv")}, "is one file"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Corpus.model_validate(settings)


def test_other_tasks_read_no_music(folder: Path) -> None:
    with pytest.raises(DataError, match="music alone"):
        list(read(Corpus(files=(str(folder / "a.mid"),)), "pairs"))
