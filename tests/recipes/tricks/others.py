"""What defines the recipes of graphs and series, and those that classify."""

from tests.recipes.tricks.lookup import Tricks, of

_GRAPH: Tricks = {  # Dwivedi and Bresson 2021
    "model.family": "encoder-only",
    "encoder.mixer.kind": "attention",
    "encoder.mixer.bias": False,
    "encoder.norm.kind": "batch",
    "encoder.norm.place": "post",
    "encoder.positions.kind": "none",  # a graph has no order
    "task.kind": "nodes",  # a node looks at its neighbours
    "task.self_loops": False,
    "task.positions.kind": "laplacian",
    "model.output.kind": "tags",
}

_GAT: Tricks = of(  # Veličković et al. 2018, sections 2.1 and 3.3
    "encoder",
    {
        "mixer.score": "leaky-additive",
        "mixer.heads": [8, 1],
        "mixer.dropout": 0.6,
        "mixer.output_activation": ["elu", "identity"],
        "feed_forward.kind": "none",
        "norm.kind": "none",
        "residual.kind": "none",
        "positions.kind": "none",
    },
)

_FORECAST: Tricks = {
    "task.kind": "forecast",
    "task.channels": "apart",  # Nie et al. 2023, section 3.1
    "task.normalise": "window",
    "model.input.kind": "patches",
    "model.input.length": 16,
    "model.output.kind": "horizon",
    "model.output.pool": "flat",
}
_PATCHES = _FORECAST | {
    "model.input.stride": 8,
    "model.input.fill": "last",
    "encoder.mixer.kind": "attention",
    "encoder.norm.kind": "batch",
    "encoder.positions.kind": "learned",
}

_CONVOLVED: Tricks = {
    "task.kind": "classify",
    "model.output.kind": "classes",
    "encoder.mixer.kind": "convolution",
    "encoder.mixer.activation": "relu",
}

_TAGGER: Tricks = {  # Ma and Hovy 2016, section 2
    "task.kind": "tag",
    "task.spelled": True,
    "model.input.kind": "spelled",
    "model.input.reader.kind": "convolution",
    "encoder.mixer.kind": "recurrence",
    "encoder.mixer.cell": "lstm",
    "encoder.mixer.direction": "both",
    "model.output.kind": "tags",
    "model.output.chain": True,
}

OTHERS = {
    "graph-transformer": _GRAPH,
    "graph-transformer-small": _GRAPH,
    "gat": _GAT | {"task.kind": "nodes", "model.input.dropout": 0.6, "training.optimiser.l2": 0.0005},
    "patch-forecast": _PATCHES | {"task.look_back": 512},
    "patch-forecast-small": _PATCHES | {"model.output.quantiles": (0.1, 0.25, 0.5, 0.75, 0.9)},
    "linear-forecast": _FORECAST | {"encoder.depth": 0},
    "text-classifier": _CONVOLVED | {"text.source.dropout": 0.1, "model.output.pool": "max"},
    "motion-classifier": _CONVOLVED | {"model.output.pool": ("mean", "max"), "task.vary.warp": 0.2},
    "word-tagger": _TAGGER,
    "image-classifier": {"model.input.kind": "images", "encoder.positions.kind": "learned", "task.vary.shift": 2},
}
