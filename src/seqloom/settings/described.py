"""What the strings below the fields of a settings class say of them."""

import ast
import inspect
from functools import cache
from textwrap import dedent

from pydantic import BaseModel


@cache
def described(settings: type[BaseModel]) -> dict[str, str]:
    """By field, those of the classes it derives from too.

    pydantic would read them whenever a class is made (`use_attribute_docstrings`): a tenth of the time in which a
    command starts, for a schema that hardly anybody asks for.
    """
    found = dict[str, str]()
    for part in reversed(settings.__mro__):
        if issubclass(part, BaseModel) and part is not BaseModel:
            found |= _of(part)
    return found


def _of(settings: type[BaseModel]) -> dict[str, str]:
    try:
        (made,) = ast.parse(dedent(inspect.getsource(settings))).body
    except (OSError, TypeError):  # a class that was not written in a file
        return {}
    assert isinstance(made, ast.ClassDef)
    found = dict[str, str]()
    for field, below in zip(made.body, made.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            match below.value:
                case ast.Constant(value=str(words)):
                    found[field.target.id] = inspect.cleandoc(words)
    return found
