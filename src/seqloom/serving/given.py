"""What requests have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from seqloom.generation.sampling import Sampling

SEEDS = 2**63 - 1


class Given(BaseModel):
    """Of what is sent: no unknown names, no silent conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True)


class Draws(Given):
    """How tokens are drawn; what is left out is as the run says."""

    temperature: Annotated[float, Field(gt=0, le=100)] | None = None
    top_k: Annotated[int, Field(ge=0, le=2**31)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None

    def over(self, own: Sampling | None) -> Sampling:
        return (own or Sampling()).model_copy(update=self.model_dump(exclude_none=True))
