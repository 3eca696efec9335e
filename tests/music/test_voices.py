import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqloom.music import DRUMS, Note, Piece, Voices, event_words, read_events, read_midi, write_events, write_midi
from seqloom.music.voices import REST, TooManyVoicesError

TWO = Voices(voices=2)


def test_steps_go_voice_by_voice_from_the_top() -> None:
    piece = Piece((Note(0, 0.5, 48, part=0), Note(0, 0.25, 60, part=1), Note(0.25, 0.5, 62, part=1)))
    assert write_events(piece, TWO) == ["60", "48", "62", "48"]


def test_a_voice_that_is_silent_rests() -> None:
    assert write_events(Piece((Note(0, 0.25, 60), Note(0.5, 0.75, 62))), Voices(voices=1)) == ["60", REST, "62"]


def test_parts_that_cross_stay_voices() -> None:
    """Each part is a voice, even where the lower one sings higher for a while."""
    piece = Piece((Note(0, 0.5, 60, part=0), Note(0, 0.25, 50, part=1), Note(0.25, 0.5, 65, part=1)))
    assert write_events(piece, TWO) == ["60", "50", "60", "65"]


def test_chords_of_one_part_go_to_the_voices_from_the_top() -> None:
    piece = Piece((Note(0, 0.25, 60), Note(0, 0.25, 64), Note(0.25, 0.5, 62)))
    assert write_events(piece, TWO) == ["64", "60", "62", REST]


def test_more_notes_than_voices() -> None:
    piece = Piece(tuple(Note(1, 2, pitch) for pitch in (60, 64, 67)))
    with pytest.raises(TooManyVoicesError, match="3 notes sound at once at beat 1, and there are 2 voices"):
        write_events(piece, TWO)


def test_drums_have_no_voice() -> None:
    assert write_events(Piece((Note(0, 0.25, 60), Note(0, 0.25, 36, program=DRUMS))), Voices(voices=1)) == ["60"]


def test_an_unfinished_step_is_sung_as_far_as_it_goes() -> None:
    assert [note.pitch for note in read_events(["60", "48", "62"], TWO).notes] == [48, 60, 62]


@given(st.integers(1, 4), st.lists(st.sampled_from(["rest", "40", "60", "61", "62", "90"]), min_size=1, max_size=60))
def test_steps_become_midi_and_come_back(voices: int, words: list[str]) -> None:
    """As the chorales of Bach do: each voice a track, the same pitch in a row one note."""
    settings = Voices(voices=voices)
    # voices of one range each, the highest first, so that the order of the tracks can be told; none is silent
    steps = [words[at : at + voices] for at in range(0, len(words) - voices + 1, voices)]
    steps = [
        [word if word == REST else str(int(word) // 4 + 25 * (voices - at)) for at, word in enumerate(step)]
        for step in steps
    ]
    flat = [word for step in [*steps, [str(25 * (voices - at)) for at in range(voices)]] for word in step]
    piece = read_midi(write_midi(read_events(flat, settings)))
    assert write_events(piece, settings) == flat
    assert set(flat) <= set(event_words(settings))
