"""What defines the recurrent recipes."""

from tests.recipes.tricks.lookup import ABSENT, Tricks, both, of


def _deep(encoder: int, decoder: int) -> Tricks:
    return {"encoder.mixer.depth": encoder, "decoder.mixer.depth": decoder}


_BARE: Tricks = {"feed_forward.kind": "none", "norm.kind": "none", "residual.kind": "none"}  # nothing but the cells

_RNN_LM: Tricks = {
    "task.kind": "language",
    "task.carry": True,
    "model.family": "decoder-only",
    "decoder.mixer.kind": "recurrence",
    **of("decoder", _BARE),
}
_ELMAN = _RNN_LM | {"decoder.mixer.cell": "elman"}

_AWD = _RNN_LM | {  # Merity et al. 2018
    "decoder.mixer.cell": "lstm",
    "decoder.mixer.locked": True,  # section 4.2, variational dropout: one mask for all steps
    "decoder.locked": True,
    "model.tie": "output",  # section 4.4
}
_LSTM_LM = _AWD | {
    "decoder.mixer.depth": 3,
    "decoder.mixer.hidden": (1150, 1150, 400),
    "decoder.mixer.weight_dropout": 0.5,  # section 2, DropConnect on the hidden-to-hidden matrices
    "decoder.mixer.dropout": 0.3,
    "decoder.dropout": 0.4,
    "model.input.dropout": 0.1,  # section 4.3, whole words
    "training.activation": 2.0,  # section 4.6, AR
    "training.temporal": 1.0,  # and TAR
    "training.optimiser.kind": "sgd",
    "training.optimiser.momentum": 0.0,
    "training.average": 10,  # stands for NT-ASGD, section 3
    "training.clip": 0.25,
}
_LSTM_LM_SMALL = _AWD | {
    "decoder.mixer.weight_dropout": 0.2,
    "decoder.mixer.dropout": 0.1,
    "decoder.dropout": 0.1,
    "model.input.dropout": 0.02,
    "training.activation": 0.2,
    "training.temporal": 0.1,
}

_SEQ2SEQ: Tricks = {  # Sutskever et al. 2014
    **both(_BARE | {"mixer.kind": "recurrence", "mixer.cell": "lstm"}),
    "task.reverse": True,  # section 3.3
    "encoder.mixer.direction": "forward",
    "decoder.mixer.initial": "layers",
    "decoder.cross.kind": "none",  # the bottleneck
}

_LUONG: Tricks = {  # Luong et al. 2015
    **both(_BARE | {"mixer.cell": "lstm"}),
    "task.reverse": True,  # section 4.1
    "encoder.mixer.kind": "recurrence",
    "encoder.mixer.direction": "forward",
    "decoder.mixer.kind": "attentive-recurrence",
    "decoder.mixer.form": "luong",  # eq. 5
    "decoder.mixer.feed": True,  # section 3.3, input feeding
    "decoder.mixer.output": "joined",
    "decoder.mixer.initial": "layers",
    "decoder.cross.kind": "none",  # the mixer attends
}
_DOT = _LUONG | {"decoder.mixer.attention.score": "dot"}  # eq. 8
_GENERAL = _LUONG | {"decoder.mixer.attention.score": "multiplicative"}
_LUONG_FULL = _deep(4, 4) | {"generation.replace_unknown": True}

_BAHDANAU: Tricks = {  # Bahdanau et al. 2015
    **both(_BARE | {"mixer.cell": "gru"}),
    **_deep(1, 1),
    "encoder.mixer.kind": "recurrence",
    "encoder.mixer.direction": "both",  # section 3.2
    "decoder.mixer.kind": "attentive-recurrence",
    "decoder.mixer.form": "bahdanau",
    "decoder.mixer.attention.score": "additive",  # section A.1.2
    "decoder.mixer.output": "joined",
    "decoder.mixer.initial": "memory",
    "decoder.mixer.summary": "first",
    "decoder.cross.kind": "none",
}

_DEEP_ATT: Tricks = {  # Zhou et al. 2016
    **both(_BARE | {"mixer.cell": "lstm", "mixer.fast_forward": True}),  # section 3.1
    "text.source.kind": "words",
    "text.target.kind": "words",
    "encoder.mixer.kind": "recurrence",
    "encoder.mixer.direction": "interleaved",
    "decoder.mixer.kind": "attentive-recurrence",
    "decoder.mixer.form": "bahdanau",
    "decoder.mixer.asks": "bottom",
    "decoder.mixer.attention.score": "additive",
    "generation.replace_unknown": True,  # "PosUnk"
}


def _gnmt(depth: int) -> Tricks:
    """Wu et al. 2016."""
    return {
        **both(_BARE | {"mixer.cell": "lstm", "mixer.residual": 3}),  # section 3.1
        **_deep(depth, depth),
        "encoder.mixer.kind": "recurrence",
        "encoder.mixer.direction": ("both", *["forward"] * (depth - 1)),  # section 3.2
        "decoder.mixer.kind": "attentive-recurrence",
        "decoder.mixer.form": "bahdanau",
        "decoder.mixer.asks": "bottom",  # section 3.3, so that layers run side by side
        "decoder.mixer.told": "all",
        "decoder.mixer.output": "state",
        "decoder.mixer.attention.score": "additive",  # eq. 4
        "generation.length.kind": "wu",  # eq. 14
        "generation.length.alpha": 0.2,
        "generation.coverage": 0.2,
    }


_REWARD: Tricks = {  # section 5, eq. 9
    "training.reward.kind": "gleu",
    "training.reward.likelihood": 0.017,
    "training.best": "gleu",
}


def _experts(layer: int, depth: int, experts: int) -> Tricks:
    """One layer of experts, and nothing in the others (Shazeer et al. 2017, eq. 4, 7 and 11)."""
    how = {"experts": experts, "active": 4, "noise": True, "importance": 0.01, "load": 0.01}
    return {
        f"feed_forward.{name}": [value if at == layer else ABSENT for at in range(depth)] for name, value in how.items()
    }


def _moe_lstm(experts: int) -> Tricks:
    """Appendix E: experts between layers of recurrence, and residuals around all of them."""
    return {
        **of("encoder", _experts(1, 3, experts)),
        **of("decoder", _experts(0, 2, experts)),
        **both({"mixer.cell": "lstm", "mixer.projection": True, "residual.kind": "add"}),
        "encoder.mixer.direction": ["both", "forward", "forward"],
        "decoder.mixer.kind": ["attentive-recurrence", "recurrence"],
        "decoder.mixer.attention.score": ["additive", ABSENT],
        "decoder.mixer.asks": ["bottom", ABSENT],
    }


_LARGE: Tricks = {"model.input.deviation": 0.5}  # as was measured: see test_recurrent.py

RECURRENT = {
    "rnn-lm": _ELMAN,
    "rnn-lm-small": _ELMAN,
    "lstm-lm": _LSTM_LM,
    "lstm-lm-small": _LSTM_LM_SMALL,
    "rnn-seq2seq": _SEQ2SEQ | _deep(4, 4),
    "rnn-seq2seq-small": _SEQ2SEQ | _deep(2, 2) | _LARGE,
    "rnn-attention-dot": _DOT | _LUONG_FULL,
    "rnn-attention-dot-small": _DOT | _deep(2, 2) | _LARGE,
    "rnn-attention-multiplicative": _GENERAL | _LUONG_FULL,
    "rnn-attention-multiplicative-small": _GENERAL | _deep(2, 2) | _LARGE,
    "rnn-attention-additive": _BAHDANAU,
    "rnn-attention-additive-small": _BAHDANAU | _LARGE,
    "deep-att": _DEEP_ATT | _deep(9, 7),  # Table 1
    "deep-att-small": _DEEP_ATT | _deep(3, 3) | _LARGE,
    "gnmt": _gnmt(8),
    "gnmt-small": _gnmt(4) | _LARGE,
    "gnmt-rl": _gnmt(8) | _REWARD | {"training.reward.samples": 15},
    "gnmt-rl-small": _gnmt(4) | _LARGE | _REWARD | {"training.reward.samples": 8},
    "moe-lstm": _moe_lstm(2048) | {"training.schedule.kind": "inverse-sqrt", "training.schedule.warmup": 2000},
    "moe-lstm-small": _moe_lstm(16) | _LARGE,
}
