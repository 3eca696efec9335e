"""What a schema expects in each place, read from its types."""

from collections.abc import Iterable
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin

from pydantic import BaseModel, Discriminator, Tag
from pydantic.fields import FieldInfo

from seqloom.settings.lines import KeyPath


@dataclass(frozen=True)
class Slot:
    """What is expected in one place: a bare type, and the marks on it (bounds, what tells a union's members apart)."""

    type: Any
    marks: tuple[Any, ...] = ()


def slot(hint: Any, *marks: Any) -> Slot:
    """The slot of a type hint, freed of Annotated and of None."""
    if get_origin(hint) is Annotated:
        bare, *more = get_args(hint)
        return slot(bare, *_flat(more), *marks)
    if is_union(hint) and len(members(hint)) == 1:
        return slot(members(hint)[0], *marks)
    return Slot(hint, marks)


def _flat(marks: Iterable[Any]) -> list[Any]:
    flat: list[Any] = []
    for mark in marks:
        if isinstance(mark, FieldInfo):
            flat += mark.metadata
            if mark.discriminator is not None:
                flat.append(_discriminator(mark.discriminator))
        else:
            flat.append(mark)
    return flat


def _discriminator(by: str | Discriminator) -> Discriminator:
    return by if isinstance(by, Discriminator) else Discriminator(by)


def is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)


def members(hint: Any) -> list[Any]:
    """A union's members, less None."""
    return [member for member in get_args(hint) if member is not NoneType]


def is_model(hint: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(hint, type) and issubclass(hint, BaseModel)


def names(here: Slot) -> list[str]:
    """The names of a table's settings."""
    return list(here.type.model_fields) if is_model(here.type) else []


def literals(here: Slot) -> list[str]:
    """The words that a place takes."""
    if is_union(here.type):
        return [word for member in members(here.type) for word in literals(slot(member))]
    if get_origin(here.type) is Literal:
        return [word for word in get_args(here.type) if isinstance(word, str)]
    return []


def discriminator(here: Slot) -> Any:
    """What tells a union's members apart: a setting's name, a function, or None."""
    found = [mark.discriminator for mark in here.marks if isinstance(mark, Discriminator)]
    return found[-1] if found and is_union(here.type) else None


def kinds(here: Slot) -> dict[str, Any]:
    """The members of a union that a setting tells apart, by that setting's value."""
    name = discriminator(here)
    if not isinstance(name, str):
        return {}
    return {word: member for member in members(here.type) for word in literals(inside(slot(member), name))}


def inside(here: Slot, step: str | int) -> Slot:
    """One step down: into a table by name, into a list by number."""
    if is_model(here.type):
        field = here.type.model_fields.get(str(step))
        return slot(Any) if field is None else slot(field.annotation, *_flat([field]))
    arguments = get_args(here.type)
    match get_origin(here.type):
        case origin if origin is dict:
            return slot(arguments[1])
        case origin if origin is tuple and isinstance(step, int):
            return slot(arguments[0] if arguments[-1] is Ellipsis else arguments[step])
        case _:
            return slot(Any)


def _member(here: Slot, label: str | int) -> Slot:
    """The member of a union that pydantic's label means; the union itself where that cannot be told."""
    for member in members(here.type):
        if Tag(str(label)) in slot(member).marks:
            return slot(member)
    return slot(kinds(here)[str(label)]) if label in kinds(here) else here


def follow(schema: type[BaseModel], loc: KeyPath) -> tuple[KeyPath, Slot]:
    """The user's path for a location of pydantic's, and what is expected there.

    Where the schema has a union, pydantic adds a label for the member that it tried: no step of the user's.
    """
    here = slot(schema)
    path: KeyPath = ()
    for step in loc:
        if is_union(here.type):
            here = _member(here, step)
        else:
            here = inside(here, step)
            path = (*path, step)
    return path, here
