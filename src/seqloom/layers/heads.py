"""Heads: what all kinds of attention share (Vaswani et al. 2017, section 3.2.2)."""
# H query heads  G key heads  K query width  J key width  V value width

from pydantic import Field
from torch import Tensor, nn

from seqloom.layers.activations import Activation, activate
from seqloom.layers.apart import apart
from seqloom.layers.cost import Cost, linear
from seqloom.layers.faults import Faults
from seqloom.layers.linear import Linear
from seqloom.layers.norms import RMSNormalisation
from seqloom.layers.scores import ScoreName, build_score, score_cost
from seqloom.settings import Frozen

_LOOKED_AT = 1024  # heads; more are a slip


def uneven(width: int, heads: int) -> str:
    """Why a width is not split, and what would be: into heads of even width, as rotary positions need them."""
    divisors = [count for count in range(1, min(2 * heads, _LOOKED_AT) + 1) if width % count == 0]
    even = [count for count in divisors if width // count % 2 == 0]
    count = min(even or divisors, key=lambda count: abs(count - heads))
    other = 2 * heads * max(1, round(width / (2 * heads)))
    reason = f"width {width} cannot be split into {heads} heads of equal width"
    return f"{reason}; {count} would do, or width {other}"


class Heads(Frozen):
    """What all kinds of attention share."""

    heads: int = Field(default=8, ge=1)
    key_heads: int | None = Field(
        default=None, ge=1, description="fewer than heads: grouped queries; 1: multi-query; unset: as many as heads"
    )
    head_width: int | None = Field(default=None, ge=1, description="unset: the model's width / heads")
    score: ScoreName = "scaled-dot"
    project: bool = Field(default=True, description="false: the input is its own query, key and value")
    output: bool = Field(default=True, description="one more linear map over the joined heads")
    bias: bool = Field(default=True, description="biases in these linear maps")
    output_bias: bool | None = Field(default=None, description="the output map's own; unset: as bias")
    activation: Activation = Field(default="identity", description="applied to queries, keys and values")
    qk_norm: bool = Field(default=False, description="RMS norm of each head's queries and keys")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="of attention weights")

    @property
    def groups(self) -> int:
        return self.key_heads or self.heads

    @property
    def biased_output(self) -> bool:
        return self.bias if self.output_bias is None else self.output_bias

    def width_of_head(self, width: int) -> int:
        return self.head_width or width // self.heads

    def faults(self, width: int) -> Faults:
        if self.head_width is None and width % self.heads:
            yield "heads", uneven(width, self.heads)
            return
        if self.heads % self.groups:
            yield "key_heads", f"{self.heads} query heads cannot share {self.groups} key heads evenly"
        if not self.project:
            if self.head_width is not None and self.head_width * self.heads != width:
                yield "head_width", f"without projections the heads must fill the width: {self.heads} × … = {width}"
            if self.groups != self.heads:
                yield "key_heads", "without projections there are as many key heads as query heads"
            if self.activation != "identity":
                yield "activation", "activation belongs to the projections, and project is false"
        if not self.output and self.output_bias is not None:
            yield "output_bias", "output_bias belongs to the output map, and output is false"
        if not self.output and self.heads * self.width_of_head(width) != width:
            yield (
                "output",
                f"without output the heads must fill the width: {self.heads} × {self.width_of_head(width)} ≠ {width}",
            )

    def head_cost(
        self, width: int, seen: float, keys: float = 1, squeeze: float = 1, memory_width: int | None = None
    ) -> Cost:
        """One query over `seen` keys. For each query `keys` are projected, and 1 / squeeze of them scored."""
        K, H, G = self.width_of_head(width), self.heads, self.groups
        cost = score_cost(self.score, H, G, K, K, seen, keys / squeeze) + Cost(0, 2 * H * K * seen)
        if self.project:
            cost += linear(width, H * K, self.bias) + linear(memory_width or width, 2 * G * K, self.bias).times(keys)
        if self.output:
            cost += linear(H * K, width, self.biased_output)
        return cost + Cost(2 * K if self.qk_norm else 0)


class HeadProjections(nn.Module):
    """Linear maps into heads and back, with what is done to each head alone."""

    def __init__(self, settings: Heads, width: int, memory_width: int | None = None) -> None:
        """memory_width: keys and values come from another sequence, of this width."""
        super().__init__()
        self.H, self.G, self.K = settings.heads, settings.groups, settings.width_of_head(width)
        self.project, self.crosses = settings.project, memory_width is not None
        self.activate, self.activates_nothing = activate(settings.activation), settings.activation == "identity"
        source = width if memory_width is None else memory_width
        self.J = self.K if settings.project else source // self.H
        if settings.project and self.crosses:
            self.q = Linear(width, self.H * self.K, settings.bias)
            self.kv = Linear(source, 2 * self.G * self.K, settings.bias)
        elif settings.project:
            self.qkv = Linear(width, (self.H + 2 * self.G) * self.K, settings.bias)
        self.out = Linear(self.H * self.J, width, settings.biased_output) if settings.output else None
        self.q_norm = RMSNormalisation(self.K, 1e-6, gain=True, bias=False) if settings.qk_norm else None
        self.k_norm = RMSNormalisation(self.J, 1e-6, gain=True, bias=False) if settings.qk_norm else None
        self.score = build_score(settings.score, self.H, self.G, self.K, self.J)

    def of_itself(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q_…HK, k_…GK, v_…GK."""
        if not self.project:
            one = x.unflatten(-1, (self.H, -1))
            return self._normed(one, self.q_norm), self._normed(one, self.k_norm), one
        q, k, v = apart(self.side_by_side(x), (self.H, self.G, self.G))
        return (q, k, v) if self.q_norm is None else (self.q_norm(q), self._normed(k, self.k_norm), v)

    def side_by_side(self, x: Tensor) -> Tensor:
        """Queries, keys and values as they are projected: x_…(H+2G)K."""
        return self.activate(self.qkv(x)).view(*x.shape[:-1], self.H + 2 * self.G, self.K)

    def queries(self, x: Tensor) -> Tensor:
        q = self.activate(self.q(x)) if self.project else x
        return self._normed(q.unflatten(-1, (self.H, -1)), self.q_norm)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        if not self.project:
            k = v = memory.unflatten(-1, (self.H, -1))
        else:
            k, v = apart(self.both(memory), (self.G, self.G))
        return self._normed(k, self.k_norm), v

    def both(self, memory: Tensor) -> Tensor:
        """Keys and values of a memory as they are projected: x_…(2G)K."""
        return self.activate(self.kv(memory)).unflatten(-1, (2 * self.G, self.K))

    def join(self, y: Tensor) -> Tensor:
        """The heads y_…HV side by side, through the output map if there is one."""
        joined = y.flatten(-2)
        return joined if self.out is None else self.out(joined)

    @staticmethod
    def _normed(x: Tensor, norm: RMSNormalisation | None) -> Tensor:
        return x if norm is None else norm(x)
