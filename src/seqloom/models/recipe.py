"""A recipe: one system in one file."""

from pydantic import Field

from seqloom.models.settings import ModelSettings
from seqloom.settings import Frozen


class Recipe(Frozen):
    """What a recipe file may hold."""

    source: str = Field(default="", description="where the system was published")
    model: ModelSettings = ModelSettings()
