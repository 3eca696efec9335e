"""What each trained parameter is for an optimiser: a matrix, a table, or a vector."""

from typing import Literal

from torch import nn

from seqloom.layers.embedding import PatchEmbedding, TokenEmbedding, VectorEmbedding
from seqloom.layers.experts import MixtureOfExperts
from seqloom.layers.features import FeatureEmbedding
from seqloom.layers.images import ImageEmbedding
from seqloom.models.heads import ClassHead, NumberHead, TagHead, TokenHead

Role = Literal["matrix", "stack", "table", "vector"]
"""matrix: maps hidden features to hidden features, shaped (out, in): the weights of linear and recurrent layers.
stack:  several of them, each (in, out): the experts'.
table:  all else of two or more dimensions: embeddings, positions, kernels, whatever belongs to an input or to a head.
vector: one number or vector for each thing: gains and biases, also those of all experts or heads in one tensor.
"""

_EDGES = (
    TokenEmbedding,
    VectorEmbedding,
    PatchEmbedding,
    ImageEmbedding,
    FeatureEmbedding,
    TokenHead,
    TagHead,
    ClassHead,
    NumberHead,
    nn.Embedding,
)


def trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that learn, by name; a tied one once, under its first name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def roles(model: nn.Module) -> dict[str, Role]:
    """The role of each trained parameter, by the names of `trained`. A tied one is a table if it is one anywhere."""
    edges = {id(p) for module in model.modules() if isinstance(module, _EDGES) for p in module.parameters()}
    found: dict[int, Role] = {}
    for module in model.modules():
        for leaf, parameter in module.named_parameters(recurse=False):
            if parameter.requires_grad:
                role = _role(module, leaf, parameter, id(parameter) in edges)
                found.setdefault(id(parameter), role)
    return {name: found[id(parameter)] for name, parameter in trained(model).items()}


def _role(module: nn.Module, leaf: str, parameter: nn.Parameter, edge: bool) -> Role:
    if parameter.ndim < 2 or "bias" in leaf:
        return "vector"
    if isinstance(module, MixtureOfExperts):
        # the biases of experts are (experts, width): two dimensions, but nothing is multiplied by them
        return "stack" if parameter.ndim == 3 else "vector" if leaf in ("in_EF", "out_ED") else "table"
    if parameter.ndim == 2 and isinstance(module, nn.Linear | nn.RNNBase) and not edge:
        return "matrix"
    return "table"
