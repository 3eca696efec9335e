"""`--beam abc`: what an option takes, where typer's words would be those of the library that reads its values."""

from collections.abc import Callable
from typing import Any, get_type_hints

import typer
from typer.core import TyperGroup


class Verbs(TyperGroup):
    """The commands; a value that is none of its option's is refused as every other mistake of the user."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            what = _said(error)
            if what is None:
                raise
            from seqloom.settings import UserError  # here, as help needs none of it

            raise UserError(what) from None


def _said(error: typer.BadParameter) -> str | None:
    """None: typer's own words will do, as those of a check of ours."""
    errors = getattr(error.__cause__, "errors", None)  # those of pydantic
    command = None if error.ctx is None else error.ctx.command
    if errors is None or error.param is None or command is None or command.callback is None:
        return None
    typed, name = errors()[0]["input"], error.param.name
    needed, near = _needed(command.callback, str(name), str(typed))
    return f"{error.param.opts[0]} {typed}: {needed} is needed" + (f"; did you mean {near!r}?" if near else "")


def _needed(callback: Callable[..., Any], name: str, typed: str) -> tuple[str, str | None]:
    """What a parameter of a command takes, and which of its choices is like what was typed."""
    from annotated_types import Ge, Le

    from seqloom.settings.shape import literals, slot
    from seqloom.settings.words import describe, nearest

    here = slot(get_type_hints(callback, include_extras=True)[name])
    bounds = [
        bound(limit)
        for info in here.marks
        for bound, limit in ((Ge, getattr(info, "min", None)), (Le, getattr(info, "max", None)))
        if limit is not None
    ]
    return describe(slot(here.type, *bounds)), nearest(typed, literals(here))
