"""A piece ⇄ its events, each a word."""

from collections.abc import Sequence
from typing import assert_never

from seqloom.music.performance import perform, performance_words, played
from seqloom.music.piece import Piece
from seqloom.music.settings import EventSettings, Performance, Voices
from seqloom.music.voices import sung, voice_words, voiced


def event_words(settings: EventSettings) -> list[str]:
    """Every word that a piece can be written with."""
    match settings:
        case Performance():
            return performance_words(settings)
        case Voices():
            return voice_words(settings)
        case _:
            assert_never(settings)


def write_events(piece: Piece, settings: EventSettings) -> list[str]:
    match settings:
        case Performance():
            return perform(piece, settings)
        case Voices():
            return voiced(piece, settings)
        case _:
            assert_never(settings)


def read_events(words: Sequence[str], settings: EventSettings) -> Piece:
    """Words in any order are some piece: what says nothing is passed over."""
    match settings:
        case Performance():
            return played(words, settings)
        case Voices():
            return sung(words, settings)
        case _:
            assert_never(settings)
