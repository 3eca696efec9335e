"""What was meant by a setting that its table does not have."""

from collections.abc import Iterator

from pydantic import BaseModel

from seqloom.settings.foreign import foreign
from seqloom.settings.lines import KeyPath
from seqloom.settings.shape import Slot, discriminator, follow, inside, is_model, is_union, kinds, members, names, slot
from seqloom.settings.words import nearest, one_of

_WRITING = ("generation", "evaluation", "serving")
_DEEPEST = 4  # tables in tables, seen from where a name was looked for


def misnamed(schema: type[BaseModel], loc: KeyPath) -> tuple[str, str | None]:
    """What to say behind "has no setting", and the table's own setting that was meant, if it is one.

    A name that other toolkits have, or that stands elsewhere in the schema, is hardly a slip of another one.
    """
    path, _ = follow(schema, loc)
    _, table = follow(schema, loc[:-1])
    name, own = str(loc[-1]), names(table)
    if nearest(name, own) and _plain(name) in map(_plain, own):
        return _near(name, own)
    if above := _above(schema, loc):
        return f"; did you mean {_dotted(above)}?", None
    if others := _other_kinds(schema, loc):
        by, mine, have = others
        return f" with {by} = {mine!r}; {by} = {one_of(have)} has it", None
    way = foreign(name, writing=path[0] in _WRITING)
    if way is not None and way.setting and _stands(schema, way.setting):
        return f"; did you mean {way.written()}", None
    if elsewhere := _elsewhere(schema, path):
        return f"; did you mean {_dotted(elsewhere)}?", None
    return _near(name, own)


def _near(name: str, own: list[str]) -> tuple[str, str | None]:
    near = nearest(name, own)
    return (f"; did you mean {near!r}?" if near else f"; it has {', '.join(own) or 'none'}"), near


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))


def _above(schema: type[BaseModel], loc: KeyPath) -> KeyPath | None:
    """Where a setting of this name stands that was looked for too deep."""
    for depth in range(len(loc) - 2, 0, -1):
        path, table = follow(schema, loc[:depth])
        if loc[-1] in names(table):
            return (*path, loc[-1])
    return None


def _other_kinds(schema: type[BaseModel], loc: KeyPath) -> tuple[str, str, list[str]] | None:
    """Of a table that has a kind: what tells the kinds apart, its own, and those that have the setting."""
    _, union = follow(schema, loc[:-2])
    by, every = discriminator(union), kinds(union)
    if not isinstance(by, str) or loc[-2] not in every:
        return None
    have = [kind for kind, member in every.items() if loc[-1] in names(slot(member))]
    return (by, str(loc[-2]), have) if have else None


def _stands(schema: type[BaseModel], dotted: str) -> bool:
    """Whether a schema has the setting that the words for another toolkit's name speak of."""
    here = [slot(schema)]
    for step in dotted.split("."):
        here = [inside(table, step) for each in here for table in _tables(each) if step in names(table)]
    return bool(here)


def _elsewhere(schema: type[BaseModel], path: KeyPath) -> KeyPath | None:
    """The setting of this name that is nearest: first below the table where it was looked for, then below the next."""
    for depth in range(len(path) - 1, -1, -1):
        above, here = path[:depth], [slot(schema)]
        for step in above:
            here = [inside(table, step) for each in here for table in _forms(each, step)]
        if found := _below(here, path[-1]):
            return (*above, *found)
    return None


def _below(here: list[Slot], name: str | int) -> KeyPath | None:
    """The way down to a setting, the shortest one."""
    level: list[tuple[KeyPath, Slot]] = [((), each) for each in here]
    for _ in range(_DEEPEST):
        tables = [(path, table) for path, each in level for table in _tables(each)]
        for path, table in tables:
            if name in names(table):
                return (*path, name)
        level = [((*path, step), inside(table, step)) for path, table in tables for step in names(table)]
    return None


def _tables(here: Slot) -> Iterator[Slot]:
    """What settings may stand in a place: the members of a union, one by one."""
    if is_union(here.type):
        for member in members(here.type):
            yield from _tables(slot(member))
    elif is_model(here.type):
        yield here


def _forms(here: Slot, step: str | int) -> Iterator[Slot]:
    """What a step may lead into: by number, lists."""
    if isinstance(step, str):
        yield from _tables(here)
    elif is_union(here.type):
        for member in members(here.type):
            yield from _forms(slot(member), step)
    else:
        yield here
