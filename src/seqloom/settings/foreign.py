"""What other toolkits call a setting or an option, and what it is called here: the only place that knows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """What stands here for an option of another toolkit: a setting, an option, or neither, with a word about it.

    value: what it is set to; none: what was typed.
    """

    setting: str = ""
    value: str = ""
    option: str = ""
    remark: str = ""

    def told(self, typed: str) -> str:
        """As it is to be typed."""
        if not (self.setting or self.option):
            return self.remark
        value = self.value or typed
        words = f"--set {self.setting}={value}" if self.setting else f"{self.option} {value}"
        return f"{words} ({self.remark})" if self.remark else words

    def written(self) -> str:
        """As a recipe says it."""
        value = self.value.strip("…")
        bare = value in ("", "true", "false") or value[0].isdecimal()
        words = f"{self.setting} = {value if bare else repr(value)}" if value else self.setting
        return f"{words}? ({self.remark})" if self.remark else f"{words}?"


def _named(*ways: tuple[str, Way]) -> dict[str, Way]:
    return {name: way for names, way in ways for name in names.split()}


_TOKENS = "in tokens, not in sentences"
TRAINING = _named(
    ("lr learning-rate", Way("training.optimiser.rate")),
    ("optimizer optim", Way("training.optimiser.kind")),
    ("weight-decay", Way("training.optimiser.decay")),
    ("lr-scheduler lr-scheduler-type scheduler decay-method", Way("training.schedule.kind")),
    ("warmup warmup-steps warmup-updates", Way("training.schedule.warmup")),
    ("max-tokens", Way("training.batch")),
    ("batch-size max-sentences per-device-train-batch-size mini-batch", Way("training.batch", "…", remark=_TOKENS)),
    ("update-freq accum-count gradient-accumulation-steps optimizer-delay", Way("training.accumulate")),
    ("max-update max-steps train-steps", Way("training.steps")),
    ("max-epoch max-epochs num-train-epochs num-epochs", Way("training.epochs")),
    ("fp16 bf16 amp", Way("training.precision", "bf16", remark="without it, where it is faster")),
    ("fp32", Way("training.precision", "float32")),
    ("label-smoothing", Way("training.smoothing")),
    ("clip-norm max-grad-norm", Way("training.clip")),
    ("validate-interval-updates valid-steps eval-steps valid-freq", Way("training.validate_every")),
    ("early-stopping", Way("training.patience", "…", remark="validations without a better one")),
    ("gpu gpus cuda cpu", Way("training.device", "…", remark="cpu, cuda, cuda:1")),
    (
        "world-size distributed-world-size gpu-ranks num-gpus nproc-per-node ddp-backend local-rank",
        Way("training.device", "cuda:0", remark="a run trains on one device"),
    ),
    (
        "arch model-type",
        Way(remark="a recipe says what the model is: seqloom train NAME --data …; `seqloom recipes` lists them"),
    ),
    ("encoder-embed-dim hidden-size d-model", Way("model.width")),
    ("encoder-layers num-layers enc-layers layers", Way("model.depth")),
    ("attention-heads encoder-attention-heads num-heads heads", Way("model.mixer.heads")),
    ("share-all-embeddings tied-embeddings-all", Way("model.tie", "all")),
    ("joined-dictionary share-vocab", Way("text.shared", "true")),
    ("vocab-size dim-vocabs", Way("text.source.size")),
    ("bpe", Way("text.source.kind", "bpe")),
    ("max-length max-seq-len max-source-length max-target-length", Way("data.longest", remark="tokens of one side")),
    ("output save-dir output-dir save-model", Way(option="--out")),
    ("restore-file finetune-from-model train-from pretrained-model", Way(option="--from")),
    ("source-lang src-lang target-lang tgt-lang trainpref", Way(remark="name both files: --data train.en train.de")),
    ("validpref", Way(remark="name both files: --valid dev.en dev.de")),
)
"""Of training."""

WRITING = _named(
    ("lenpen length-penalty normalize", Way("generation.length.alpha")),
    ("beam-size num-beams", Way("generation.beam")),
    ("nbest num-return-sequences", Way("generation.n_best")),
    ("sampling do-sample", Way("generation.sample.temperature", "1.0")),
    ("sampling-topk", Way("generation.sample.top_k")),
    ("sampling-topp", Way("generation.sample.top_p")),
    ("max-len-b max-length max-new-tokens max-tokens", Way("generation.longest", remark="tokens of an answer")),
    ("min-len min-length", Way("generation.shortest")),
    ("no-repeat-ngram-size block-ngram-repeat", Way("generation.no_repeat")),
    ("batch-size max-sentences mini-batch", Way("generation.batch", remark="answers written together")),
    ("diverse-beam-groups num-beam-groups", Way("generation.groups")),
    ("replace-unk", Way("generation.replace_unknown", "true")),
    ("fp16 bf16", Way("generation.precision", "bf16")),
    ("fp32", Way("generation.precision", "full")),
    ("int8", Way("generation.precision", "int8")),
    ("gpu gpus cuda", Way(option="--device", value="cuda")),
    ("cpu", Way(option="--device", value="cpu")),
    ("output output-file", Way(option="--out")),
    ("path model model-path checkpoint", Way(remark="the folder of a run comes first, without an option")),
    ("src input-file", Way(remark="the file comes behind the run, without an option")),
    ("remove-bpe post-process detokenize", Way(remark="answers are plain text already; leave it out")),
)
"""Of answers, and of how they are written."""


def foreign(name: str, writing: bool) -> Way | None:
    """What stands here for a name. writing: of answers alone; else of training, then a setting of answers."""
    plain = name.replace("_", "-").lower()
    later = WRITING.get(plain)
    if writing:
        return later
    return TRAINING.get(plain) or (later if later is not None and later.setting else None)
