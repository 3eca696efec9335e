"""How a piece of music is written as a sequence of events."""

from typing import Annotated, Literal

from pydantic import Field

from seqloom.settings import Frozen


class Performance(Frozen):
    """Notes begin and end, time goes on, loudness changes: any MIDI file (Oore et al. 2018; Huang et al. 2018)."""

    kind: Literal["performance"] = "performance"
    per_second: int = Field(default=100, ge=1, le=1000, description="steps of time in a second: 100 are 10 ms each")
    longest_shift: int = Field(default=100, ge=1, le=1000, description="steps that one event of time has at most")
    velocities: int = Field(default=32, ge=1, le=127, description="degrees of loudness")
    instruments: bool = Field(
        default=False,
        description="events say which instrument plays, and drums are kept; otherwise all is one piano without drums",
    )


class Voices(Frozen):
    """A grid of so many voices, step by step, the highest voice first, as chorales are (Huang et al. 2018).

    A pitch that stands in one step after the other is one long note.
    """

    kind: Literal["voices"] = "voices"
    voices: int = Field(default=4, ge=1, le=16, description="notes that sound at once, at most")
    per_beat: int = Field(default=4, ge=1, le=48, description="steps of a quarter note: 4 are sixteenths")


EventSettings = Annotated[Performance | Voices, Field(discriminator="kind")]
