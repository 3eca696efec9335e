"""What other toolkits call a command, and what it is called here; their options are in `settings/foreign.py`."""

_PREDICT = "seqloom predict RUN FILE"
_READS = "seqloom train reads plain text, and learns its vocabulary by itself; seqloom check FILE… looks through it"
VERBS = {
    "translate": _PREDICT,
    "generate": _PREDICT,
    "infer": _PREDICT,
    "decode": _PREDICT,
    "interactive": "seqloom predict RUN, which answers what is typed",
    "preprocess": _READS,
    "binarize": _READS,
    "build-vocab": _READS,
    "apply-bpe": _READS,
    "learn-bpe": _READS,
    "average": "seqloom train … --set training.average=5: the model is the mean of the last validated ones",
    "average-checkpoints": "seqloom train … --set training.average=5: the model is the mean of the last validated ones",
    "score": "seqloom evaluate --hypotheses FILE --references FILE, or seqloom evaluate RUN --data FILE",
    "test": "seqloom evaluate RUN --data FILE",
    "eval": "seqloom evaluate RUN --data FILE",
    "eval-lm": "seqloom evaluate RUN --data FILE",
    "validate": "seqloom evaluate RUN --data FILE",
    "finetune": "seqloom train --from RUN --data FILE…",
    "server": "seqloom serve RUN",
}
