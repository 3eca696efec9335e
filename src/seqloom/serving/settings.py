"""What the server allows, and whom."""

from typing import Annotated, Literal

from pydantic import Field

from seqloom.settings import Frozen


class PlainChat(Frozen):
    """The contents of all messages, a line feed between them; the model goes on behind the last one."""

    kind: Literal["plain"] = "plain"


class NamedChat(Frozen):
    """Each message a line, begun with its role's name; the model goes on behind the assistant's."""

    kind: Literal["named"] = "named"
    system: str = "System: "
    user: str = "User: "
    assistant: str = "Assistant: "


ChatSettings = Annotated[PlainChat | NamedChat, Field(discriminator="kind")]


class ServingSettings(Frozen):
    """Limits that a laptop keeps; each can be raised with --set serving.…"""

    queue: int = Field(
        default=256, ge=1, description="inputs to a model that may wait; further ones are sent away (429)"
    )
    seconds: float = Field(default=60.0, gt=0, description="that a request may take, waiting included")
    stop_seconds: float = Field(default=30.0, ge=0, description="to finish what was accepted, once asked to stop")
    body: int = Field(default=2**20, ge=2, description="bytes of a request")
    inputs: int = Field(default=64, ge=1, description="texts in one request")
    input_tokens: int = Field(default=4096, ge=1, description="of each text")
    max_tokens: int = Field(default=4096, ge=1, description="of each answer; longer ones are cut there")
    n_best: int = Field(default=16, ge=1, description="answers to a text, and hypotheses (beam), that may be asked for")
    connections: int = Field(
        default=512, ge=1, description="requests under way at once; further ones are sent away (503)"
    )
    memory: float | None = Field(
        default=None,
        gt=0,
        description="GB of weights that are held at once; those asked least recently make room. Unset: all stay",
    )
    watch: float = Field(
        default=2.0, ge=0, description="seconds between looks whether a run has a new model; 0: only SIGHUP looks"
    )
    hosts: tuple[str, ...] = Field(
        default=(),
        description="names under which it may be reached, besides localhost and addresses of numbers; *: any. Others "
        "are refused: a foreign page could point a name of its own at this machine",
    )
    origins: tuple[str, ...] = Field(
        default=(), description="pages of other hosts that may ask, such as https://example.org; *: all (CORS)"
    )
    token_file: str | None = Field(
        default=None,
        description="a file whose text every request must carry (Authorization: Bearer …); SEQLOOM_TOKEN does the same",
    )
    lecture: bool = Field(
        default=True, description="the studio also has the built-in model of the lecture; false: only the runs"
    )
    look_tokens: int = Field(default=512, ge=1, description="of a text, and of its answer, that are looked into")
    look_memory: float = Field(
        default=0.25, gt=0, description="GB of what was looked at that each model keeps, so that more of it can be seen"
    )
    chat: ChatSettings = Field(default=PlainChat(), description="how messages become a prompt")
    log: Literal["requests", "problems"] = Field(
        default="requests", description="requests: a line for each on standard error; problems: only of failures"
    )


class ServeSettings(Frozen):
    """All that `seqloom serve` can set of its own."""

    serving: ServingSettings = ServingSettings()
