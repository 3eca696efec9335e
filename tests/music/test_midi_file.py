import sys

import pytest

from seqloom.music import DRUMS, MidiError, Note, Piece, read_midi, write_midi
from seqloom.settings import UserError
from tests.music.midi_bytes import midi, off, on, pedal, tempo, track

LINE = track((0, on(60)), (480, off(60)), (0, on(62)), (240, off(62)))


def sounds(data: bytes) -> list[tuple[float, float, int]]:
    return [(note.start, note.end, note.pitch) for note in read_midi(data).notes]


@pytest.mark.parametrize("form", [0, 1])
def test_notes_are_in_beats(form: int) -> None:
    assert sounds(midi([LINE], form)) == [(0, 1, 60), (1, 1.5, 62)]


def test_format_2_is_refused() -> None:
    with pytest.raises(MidiError, match="several songs"):
        read_midi(midi([LINE], 2))


def test_running_status_and_a_velocity_of_0() -> None:
    running = track((0, on(60)), (480, bytes([60, 0])), (0, bytes([64, 70])), (480, bytes([64, 0])))
    assert sounds(midi([running])) == [(0, 1, 60), (1, 2, 64)]


def test_tempos_of_any_track_hold_for_all() -> None:
    tempos = track((0, tempo(1_000_000)), (480, tempo(250_000)))
    piece = read_midi(midi([tempos, LINE]))
    assert [piece.seconds(beat) for beat in (0, 0.5, 1, 2)] == [0, 0.5, 1, 1.25]


def test_without_a_tempo_a_beat_is_half_a_second() -> None:
    assert read_midi(midi([LINE])).seconds(3) == 1.5


@pytest.mark.parametrize(("frames", "per_second"), [(25, 25), (30, 30), (29, 30 / 1.001)])
def test_smpte_division_counts_seconds(frames: int, per_second: float) -> None:
    """40 ticks of a frame: a note of 40 × frames ticks lasts about a second, whatever the tempo says."""
    division = ((256 - frames) << 8) | 40
    data = midi([track((0, tempo(100_000)), (0, on(60)), (40 * frames, off(60)))], 1, division)
    piece = read_midi(data)
    assert piece.seconds(piece.notes[0].end) == pytest.approx(frames / per_second)


def test_empty_tracks_are_no_harm() -> None:
    assert sounds(midi([track(), LINE, track()])) == [(0, 1, 60), (1, 1.5, 62)]


def test_a_file_without_a_note() -> None:
    with pytest.raises(MidiError, match="no note"):
        read_midi(midi([track()]))


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mido", None)
    with pytest.raises(UserError, match=r"pip install 'seqloom\[music\]'"):
        read_midi(midi([LINE]))


def test_each_track_and_channel_is_a_part() -> None:
    other = track((0, on(72, channel=1)), (480, off(72, channel=1)))
    notes = read_midi(midi([LINE, other])).notes
    assert {note.pitch: note.part for note in notes} == {60: 0, 62: 0, 72: 1}


def test_channel_10_is_drums_and_programs_are_kept() -> None:
    flute = track((0, bytes([0xC0, 73])), (0, on(60)), (480, off(60)))
    drums = track((0, on(36, channel=9)), (10, off(36, channel=9)))
    assert [note.program for note in read_midi(midi([flute, drums])).notes] == [DRUMS, 73]


def test_the_pedal_holds_notes_until_it_is_let_go() -> None:
    data = midi([track((0, pedal(127)), (0, on(60)), (240, off(60)), (240, on(64)), (480, pedal(0)), (480, off(64)))])
    assert sounds(data) == [(0, 2, 60), (1, 3, 64)]


def test_the_pedal_holds_a_note_until_its_key_is_struck_again() -> None:
    data = midi([track((0, pedal(127)), (0, on(60)), (240, off(60)), (240, on(60)), (480, off(60)), (480, pedal(0)))])
    assert sounds(data) == [(0, 1, 60), (1, 3, 60)]


def test_the_pedal_of_another_channel_holds_nothing() -> None:
    data = midi([track((0, pedal(127, channel=1)), (0, on(60)), (240, off(60)), (480, pedal(0, channel=1)))])
    assert sounds(data) == [(0, 0.5, 60)]


def test_a_key_that_is_struck_twice_lets_the_first_note_go_first() -> None:
    data = midi([track((0, on(60)), (240, on(60)), (240, off(60)), (480, off(60)))])
    assert sounds(data) == [(0, 1, 60), (0.5, 2, 60)]


def test_a_note_that_never_ends_lasts_to_the_end() -> None:
    assert sounds(midi([track((0, on(60)), (480, on(64)), (480, off(64)))])) == [(0, 2, 60), (1, 2, 64)]


def test_all_notes_off() -> None:
    assert sounds(midi([track((0, on(60)), (480, bytes([0xB0, 123, 0])), (480, pedal(0)))])) == [(0, 1, 60)]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"hello, this is no music at all", "no MIDI file"),
        (midi([LINE])[:-8], "ends too early"),
        (midi([LINE, LINE])[: len(midi([LINE])) + 4], "ends too early"),
        (midi([LINE], division=0), "no ticks to a beat"),
        (midi([track((0, tempo(0)), (0, on(60)), (1, off(60)))]), "tempo of 0"),
        (midi([track((0, on(60)), (0x0FFFFFFF, off(60)))], division=1), "hours"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, why: str) -> None:
    with pytest.raises(MidiError, match=why):
        read_midi(data)


@pytest.mark.parametrize("cut", range(14, len(midi([LINE]))))
def test_a_file_cut_anywhere_is_an_error_or_a_piece(cut: int) -> None:
    """Never another exception."""
    with pytest.raises(MidiError):
        read_midi(midi([LINE])[:cut])


def test_written_and_read_again() -> None:
    notes = (
        Note(0.0, 1.0, 60, 70, 0, 0),
        Note(0.5, 0.75, 64, 71, 40, 1),
        Note(1.0, 1.25, 36, 90, DRUMS, 2),
        Note(1.0, 2.0, 60, 72, 0, 0),  # the key is struck again where the first ends
    )
    piece = Piece(notes, ((0.0, 0.6), (1.0, 0.3)))
    again = read_midi(write_midi(piece))
    assert again.tempos == piece.tempos
    assert [(n.start, n.end, n.pitch, n.velocity, n.program) for n in again.notes] == [
        (n.start, n.end, n.pitch, n.velocity, n.program) for n in notes
    ]


def test_more_instruments_than_channels_are_all_written() -> None:
    notes = tuple(Note(float(program), program + 1.0, 60, program=program) for program in range(20))
    read = read_midi(write_midi(Piece(notes))).notes
    assert [(note.start, note.program) for note in read] == [(note.start, note.program) for note in notes]


def test_more_instruments_than_channels_that_play_by_turns() -> None:
    """Who shares a channel says at each note who plays."""
    notes = tuple(Note(float(beat), beat + 1.0, 60, program=beat % 20) for beat in range(60))
    read = read_midi(write_midi(Piece(notes))).notes
    assert [(note.start, note.program) for note in read] == [(note.start, note.program) for note in notes]
