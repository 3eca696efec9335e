"""What settings classes are written with."""

from collections.abc import Iterator, Sequence
from types import NoneType
from typing import Annotated, Any, Self, TypeVar, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    Tag,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from seqloom.settings.described import described

T = TypeVar("T")


class UserError(Exception):
    """What a user can mend: the text is the whole message, with place and fix. It ends a command with code 2."""


class FailedError(Exception):
    """The work itself failed: the text is the whole message. It ends a command with code 1."""


class SettingsError(UserError):
    """A mistake in a recipe: one line for each fault."""


class Frozen(BaseModel):
    """The base of every settings class: immutable, no unknown names, no silent conversion of types.

    Three habits follow. Lists are `tuple[X, ...]`, as a frozen object holds no list. A setting that may be None
    has None as its default, as TOML cannot say None. A type that TOML lacks takes text with
    `Field(strict=False)`, for example `Annotated[Path, Field(strict=False)]`.

    A string below a field describes it in the JSON schema.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def changed(self, name: str) -> bool:
        """Whether a setting is another than its default: a run's recipe has all of them written out."""
        return bool(getattr(self, name) != type(self).model_fields[name].get_default())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        made = handler(schema)
        fields = handler.resolve_ref_schema(made).get("properties", {})
        for name in described(cls).keys() & fields.keys():
            fields[name].setdefault("description", described(cls)[name])
        return made

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for name, field in cls.model_fields.items():
            if get_origin(field.annotation) is list or field.annotation is list:
                raise TypeError(f"{cls.__name__}.{name}: settings are frozen; use tuple[X, ...] instead of a list")
            if NoneType in get_args(field.annotation) and field.get_default() is not None:
                raise TypeError(f"{cls.__name__}.{name}: may be None, so its default must be None: TOML has no null")


def impossible(reason: str, *at: str | int) -> PydanticCustomError:
    """The error that a validator raises for settings that cannot go together.

    `at` is the path of the setting to blame, from the model whose validator raises:
    `raise impossible("width 10 cannot be split into 4 heads; 5 would do", "mixer", "heads")`
    """
    return all_impossible([(at, reason)])


def all_impossible(faults: Sequence[tuple[tuple[str | int, ...], str]]) -> PydanticCustomError:
    """The same for several at once: pairs of a path and a reason."""
    reasons = "; ".join(dict.fromkeys(reason for _, reason in faults))
    return PydanticCustomError("impossible", "{reason}", {"reason": reasons, "faults": list(faults)})


Conflicts = Iterator[tuple[tuple[str | int, ...], str]]
"""What cannot be: the path of the setting to blame, and why."""


class Checked(Frozen):
    """Settings of which some cannot go together."""

    def _conflicts(self) -> Conflicts:
        raise NotImplementedError

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if found := list(self._conflicts()):
            raise all_impossible(found)
        return self


def _form(value: object) -> str:
    return "many" if isinstance(value, list | tuple) else "one"


OneOrMany = Annotated[
    Annotated[T, Tag("one")] | Annotated[tuple[T, ...], Tag("many"), Field(strict=False)], Discriminator(_form)
]
"""One X or a list of X: `mixer: OneOrMany[MixerSettings]` takes `{ kind = … }` as well as `[{ kind = … }, …]`.

The value has the type `X | tuple[X, ...]`. Unlike that plain union it looks first at which form was written, so
that a fault is told of that form only.
"""


def _only_set(settings: BaseModel) -> dict[str, Any]:
    return settings.model_dump(include=settings.model_fields_set, exclude_none=True)


Changes = Annotated[T, PlainSerializer(_only_set)]
"""Settings that change others, so that it matters which were set: `encoder: Changes[StackSettings] = StackSettings()`.

`dump` writes only the settings that were set there, while it writes out the defaults everywhere else.
"""
