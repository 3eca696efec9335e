import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.music import DRUMS, Note, Performance, Piece, event_words, read_events, read_midi, write_events, write_midi
from seqloom.music.piece import one_by_one

PLAIN = Performance()
BAND = Performance(instruments=True)


def test_the_published_vocabulary() -> None:
    """Oore et al. 2018: 128 on, 128 off, 100 shifts, 32 velocities."""
    assert len(event_words(PLAIN)) == 388


def test_two_notes() -> None:
    piece = Piece((Note(0, 1, 60, 80), Note(0.5, 3, 64, 80)))
    assert " ".join(write_events(piece, PLAIN)) == ("velocity-20 on-60 shift-25 on-64 shift-25 off-60 shift-100 off-64")


def test_a_long_silence_is_several_shifts() -> None:
    words = write_events(Piece((Note(0, 1, 60), Note(6, 7, 60))), PLAIN)
    assert words[3:7] == ["off-60", "shift-100", "shift-100", "shift-50"]


def test_a_key_is_let_go_before_it_is_struck_again() -> None:
    words = write_events(Piece((Note(0, 2, 60), Note(1, 3, 60))), PLAIN)
    assert words == ["velocity-20", "on-60", "shift-50", "off-60", "on-60", "shift-100", "off-60"]


def test_a_note_shorter_than_a_step_has_one() -> None:
    assert "shift-1" in write_events(Piece((Note(0, 0.001, 60),)), PLAIN)


def test_drums_and_instruments() -> None:
    piece = Piece((Note(0, 1, 60, program=40), Note(0, 1, 36, program=DRUMS), Note(1, 2, 62)))
    assert "drum-36" not in write_events(piece, PLAIN)
    words = write_events(piece, BAND)
    assert [word for word in words if word.startswith(("program", "drum"))] == ["program-40", "drum-36", "program-0"]
    again = read_events(words, BAND)
    assert sorted((note.start, note.pitch, note.program) for note in again.notes) == [
        (0, 36, DRUMS),
        (0, 60, 40),
        (1, 62, 0),
    ]


def test_words_that_say_nothing_change_nothing() -> None:
    words = ["off-60", "on-60", "⁇", "shift-", "shift-10", "rest", "on-60", "shift-5", "off-60", "on-70"]
    assert [(note.start, note.end, note.pitch) for note in read_events(words, PLAIN).notes] == [
        (0, 0.2, 60),
        (0.2, 0.3, 60),
    ]


def test_what_still_sounds_ends_with_the_events() -> None:
    assert read_events(["on-60", "shift-50"], PLAIN).notes == (Note(0, 1, 60, 64),)


@st.composite
def pieces(draw: st.DrawFn) -> Piece:
    """Anything that a MIDI file can hold: overlaps, other tempos, drums, times between the steps."""
    count = draw(st.integers(1, 12))
    notes = []
    for _ in range(count):
        start = draw(st.integers(0, 8000)) / 1000
        length = draw(st.integers(1, 4000)) / 1000
        pitch, velocity = draw(st.integers(0, 127)), draw(st.integers(1, 127))
        program = draw(st.sampled_from([0, 0, 25, DRUMS]))
        notes.append(Note(start, start + length, pitch, velocity, program, draw(st.integers(0, 2))))
    tempos = [(0.0, draw(st.sampled_from([0.3, 0.5, 1.0])))]
    tempos += [(2.0, 0.25)] if draw(st.booleans()) else []
    return Piece(tuple(sorted(notes)), tuple(tempos))


@given(pieces())
def test_midi_to_events_to_midi_keeps_every_note_within_a_step(piece: Piece) -> None:
    """Begin and end within a step of 10 ms, loudness within a degree; a key that is struck again ends its note."""
    read = read_midi(write_midi(piece))
    again = read_midi(write_midi(read_events(write_events(read, BAND), BAND)))
    steps = [
        Note(
            int(100 * read.seconds(note.start) + 0.5),
            max(int(100 * read.seconds(note.start) + 0.5) + 1, int(100 * read.seconds(note.end) + 0.5)),
            note.pitch,
            note.velocity,
            note.program,
        )
        for note in read.notes
    ]
    wanted = sorted((note.pitch, note.program, note.start, note.end, note.velocity) for note in one_by_one(steps))
    found = sorted(
        (note.pitch, note.program, 100 * again.seconds(note.start), 100 * again.seconds(note.end), note.velocity)
        for note in one_by_one(again.notes)
    )
    assert len(found) == len(wanted)
    for (pitch, program, start, end, velocity), (*key, begin, until, loud) in zip(found, wanted, strict=True):
        assert [pitch, program] == key
        assert start == pytest.approx(begin, abs=0.06)
        assert abs(velocity - loud) <= 127 / 32 / 2 + 1
        assert program == DRUMS or end == pytest.approx(until, abs=0.06)


@given(pieces())
def test_events_are_words_of_the_vocabulary_and_come_back(piece: Piece) -> None:
    for settings in (PLAIN, BAND):
        words = write_events(piece, settings)
        assert set(words) <= set(event_words(settings))
        assert write_events(read_events(words, settings), settings) == words
