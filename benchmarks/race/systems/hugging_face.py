"""transformers' Marian and GPT-2, with SDPA, and with seqloom's weights."""
# B rows  T positions

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from transformers import GPT2Config, GPT2LMHeadModel, MarianConfig, MarianMTModel

import seqloom
from race.copying import built, copying_run, language_model, language_run, translator
from race.systems.learning import steps
from race.systems.own import BATCHES, sample_prompts
from race.work import (  # fmt: skip
    BEGIN,
    END,
    LONGEST,
    PAD,
    Job,
    Sample,
    Told,
    TrainLanguage,
    TrainPairs,
    Turn,
    Write,
    given,
    lines,
    padded,
    pair_batches,
    sorted_batches,
    windows,
)
from seqloom.models.decoder_only import DecoderOnly
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.tasks.translate import TranslateTask

Named = dict[str, Tensor]


def ready(job: Job, folder: Path, device: str, way: str = "") -> Turn:
    match job:
        case TrainPairs():
            return _train_pairs(job, device)
        case TrainLanguage():
            return _train_language(job, device, way == "compiled")
        case Write():
            model = seqloom.load(copying_run(job.size, folder), device="cpu")
            theirs = marian(model.networks[0]).to(device)
            return batched(job, writing(theirs, model.task, job.beam))
        case Sample():
            return _sample(job, folder, device)


def batched(job: Write, write: Callable[[Sequence[str]], list[str]]) -> Turn:
    """Batches of like lengths, one after the other."""
    texts = lines(job)
    parts, tokens = sorted_batches(texts, job.batch), sum(text.count(" ") + 2 for text in texts)

    def turn(i: int) -> Told:
        said = {}
        for part in parts:
            said |= dict(zip(part, write([texts[at] for at in part]), strict=True))
        return Told(tokens, texts=[said[at] for at in range(len(texts))])

    return turn


def marian(ours: EncoderDecoder, dropout: float = 0.0) -> MarianMTModel:
    """The same model as transformers has it."""
    encoder, decoder = ours.settings.side("encoder"), ours.settings.side("decoder")
    feed_forward = encoder.feed_forwards()[0]
    config = MarianConfig(
        vocab_size=ours.sizes.target,
        d_model=ours.settings.width,
        encoder_layers=encoder.depth,
        decoder_layers=decoder.depth,
        encoder_attention_heads=encoder.mixers()[0].heads,  # type: ignore[union-attr]
        decoder_attention_heads=decoder.mixers()[0].heads,  # type: ignore[union-attr]
        encoder_ffn_dim=feed_forward.width,  # type: ignore[union-attr]
        decoder_ffn_dim=feed_forward.width,  # type: ignore[union-attr]
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=1024,
        dropout=dropout,
        attention_dropout=dropout,
        activation_dropout=0.0,
        pad_token_id=BEGIN,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        forced_eos_token_id=None,
        attn_implementation="sdpa",
    )
    theirs = MarianMTModel(config).eval()
    missing = theirs.load_state_dict(_marian_names(ours), strict=False).missing_keys
    assert all("embed_positions" in name or name == "final_logits_bias" for name in missing), missing
    theirs.final_logits_bias.zero_()
    theirs.tie_weights()
    return theirs


def _marian_names(ours: EncoderDecoder) -> Named:
    weights = ours.state_dict()
    names: Named = {"model.shared.weight": weights["source.embedding.weight_VD"]}
    names |= {f"model.{side}.embed_tokens.weight": names["model.shared.weight"] for side in ("encoder", "decoder")}
    names["lm_head.weight"] = names["model.shared.weight"]
    for side, stack in ("encoder", ours.encoder), ("decoder", ours.decoder):
        for layer in range(len(stack.blocks)):
            of, to = f"{side}.blocks.{layer}", f"model.{side}.layers.{layer}"
            names |= _apart(weights, f"{of}.mixer.heads.qkv", *(f"{to}.self_attn.{part}_proj" for part in "qkv"))
            names |= _apart(weights, f"{of}.mixer.heads.out", f"{to}.self_attn.out_proj")
            names |= _norm(weights, f"{of}.around_mixer.norm_sum", f"{to}.self_attn_layer_norm")
            names |= _apart(weights, f"{of}.feed_forward.layer.inputs", f"{to}.fc1")
            names |= _apart(weights, f"{of}.feed_forward.layer.out", f"{to}.fc2")
            names |= _norm(weights, f"{of}.around_feed_forward.norm_sum", f"{to}.final_layer_norm")
            if side == "decoder":
                names |= _apart(weights, f"{of}.cross.heads.q", f"{to}.encoder_attn.q_proj")
                names |= _apart(weights, f"{of}.cross.heads.kv", *(f"{to}.encoder_attn.{part}_proj" for part in "kv"))
                names |= _apart(weights, f"{of}.cross.heads.out", f"{to}.encoder_attn.out_proj")
                names |= _norm(weights, f"{of}.around_cross.norm_sum", f"{to}.encoder_attn_layer_norm")
    return names


def _apart(weights: Named, of: str, *names: str) -> Named:
    """One linear map of ours that stands for several of theirs."""
    parts = {kind: weights[f"{of}.{kind}"].chunk(len(names)) for kind in ("weight", "bias")}
    return {f"{name}.{kind}": parts[kind][place] for kind in parts for place, name in enumerate(names)}


def _norm(weights: Named, of: str, name: str) -> Named:
    return {f"{name}.weight": weights[f"{of}.gain_D"], f"{name}.bias": weights[f"{of}.bias_D"]}


def writing(theirs: MarianMTModel, task: TranslateTask, beam: int) -> Callable[[Sequence[str]], list[str]]:
    """Until no hypothesis can become better than those found, with scores that are means over the length."""

    @torch.inference_mode()
    def write(texts: Sequence[str]) -> list[str]:
        rows = [[*row, END] for row in task.codecs.source.encode(list(texts))]
        real_BT = padded([[1] * len(row) for row in rows], 0, theirs.device)
        out = theirs.generate(
            padded(rows, PAD, theirs.device),
            attention_mask=real_BT,
            num_beams=beam,
            do_sample=False,
            max_new_tokens=LONGEST + 1,
            length_penalty=1.0,
            early_stopping="never" if beam > 1 else False,
        )
        return task.target.decode_many([[token for token in row if token > END] for row in out.tolist()])

    return write


def gpt2(ours: DecoderOnly, context: int, dropout: float = 0.0) -> GPT2LMHeadModel:
    """The same model as transformers has it."""
    stack = ours.settings.side("decoder")
    config = GPT2Config(
        vocab_size=ours.sizes.target,
        n_positions=context,
        n_embd=ours.settings.width,
        n_layer=stack.depth,
        n_head=stack.mixers()[0].heads,  # type: ignore[union-attr]
        activation_function="gelu_new",
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        attn_implementation="sdpa",
        bos_token_id=BEGIN,
        eos_token_id=END,
    )
    theirs = GPT2LMHeadModel(config).eval()
    weights = ours.state_dict()
    names: Named = {
        "wte.weight": weights["input.embedding.weight_VD"],
        "wpe.weight": weights["input.positions.weight_PD"],
    }
    for layer in range(stack.depth):
        of, to = f"decoder.blocks.{layer}", f"h.{layer}"
        names |= _turned(weights, f"{of}.mixer.heads.qkv", f"{to}.attn.c_attn")
        names |= _turned(weights, f"{of}.mixer.heads.out", f"{to}.attn.c_proj")
        names |= _norm(weights, f"{of}.around_mixer.norm_in", f"{to}.ln_1")
        names |= _turned(weights, f"{of}.feed_forward.layer.inputs", f"{to}.mlp.c_fc")
        names |= _turned(weights, f"{of}.feed_forward.layer.out", f"{to}.mlp.c_proj")
        names |= _norm(weights, f"{of}.around_feed_forward.norm_in", f"{to}.ln_2")
    names |= _norm(weights, "decoder.norm", "ln_f")
    missing = theirs.transformer.load_state_dict(names, strict=False).missing_keys
    assert not [name for name in missing if not name.endswith("attn.bias")], missing
    theirs.tie_weights()
    return theirs


def _turned(weights: Named, of: str, name: str) -> Named:
    return {f"{name}.weight": weights[f"{of}.weight"].T, f"{name}.bias": weights[f"{of}.bias"]}


def _train_pairs(job: TrainPairs, device: str) -> Turn:
    work = pair_batches(job, BATCHES)
    model = marian(built(translator(job.size, job.dropout), job.size.vocabulary), job.dropout).to(device).train()
    model.config.use_cache = False

    def loss(i: int) -> Tensor:
        sources, targets = zip(*work[i], strict=True)
        labels = padded(targets, -100, device)
        real = padded([[1] * len(row) for row in sources], 0, device)
        said = model(
            input_ids=padded(sources, PAD, device),
            attention_mask=real,
            decoder_input_ids=padded(given(targets), PAD, device),
            labels=labels,
        )
        return said.loss

    return steps(model, loss, [sum(len(target) for _, target in batch) for batch in work], device)


def _train_language(job: TrainLanguage, device: str, compiled: bool) -> Turn:
    work = [rows_BT.to(device) for rows_BT in windows(job, BATCHES)]
    ours = built(language_model(job.size, job.context, job.dropout), job.size.vocabulary)
    model = gpt2(ours, job.context, job.dropout).to(device).train()
    model.config.use_cache = False
    run = torch.compile(model) if compiled else model

    def loss(i: int) -> Tensor:
        x_BT, goal_BT = work[i][:, :-1], work[i][:, 1:]
        return torch.nn.functional.cross_entropy(run(x_BT).logits.flatten(0, 1), goal_BT.flatten())

    return steps(model, loss, [job.rows * job.context] * len(work), device)


def _sample(job: Sample, folder: Path, device: str) -> Turn:
    model = seqloom.load(language_run(job, folder), device="cpu")
    theirs = gpt2(model.networks[0], job.context).to(device)
    rows = model.task.codecs.vocabulary.encode(sample_prompts(job))
    x_BT = torch.tensor([[BEGIN, *row] for row in rows], device=device)
    real_BT = torch.ones_like(x_BT)

    @torch.inference_mode()
    def turn(i: int) -> Told:
        out = theirs.generate(
            x_BT, attention_mask=real_BT, do_sample=True, top_k=0, max_new_tokens=job.tokens, pad_token_id=PAD
        )
        model.task.codecs.vocabulary.decode_many(out[:, x_BT.shape[1] :].tolist())
        return Told(out.shape[0] * (out.shape[1] - x_BT.shape[1]))

    return turn
