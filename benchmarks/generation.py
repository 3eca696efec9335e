"""Sentences a second: seqloom's search and transformers' generate, with the same weights, in one run.

    seqloom train benchmarks/marian.toml --data train.en train.de --out runs/marian
    python benchmarks/generation.py runs/marian test.en [--sentences 500] [--batches 64 1] [--beams 1 5] [--rounds 3]
        [--order sorted|file] [--same-batch]

The run's model is put into transformers' Marian, and both say the same to one batch before anything is timed. They
take turns, so that a busy machine is busy for both. transformers gets the sentences in batches, sorted by length or
in the file's order; seqloom gets them all, sorts and groups them itself, in batches of its own choice unless
--same-batch is said. A batch of 1: one sentence after the other, for both. Both search until no hypothesis can become
better than the answers found (early_stopping="never" there), with scores that are means over the length. The share of
equal texts is told. Ratios above 1: seqloom is faster. Where CTranslate2 is installed, greedy writing is timed a second
time with generation.engine = "auto", and what was chosen is told.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

import seqloom
from machine import describe
from seqloom.export.ctranslate2_engine import installed
from seqloom.jobs.answer import Question
from seqloom.jobs.generation import generation_of
from seqloom.jobs.model import Model
from seqloom.layers.layout import Padded
from seqloom.models.encoder_decoder import EncoderDecoder
from seqloom.tasks.translate import TranslateTask
from seqloom.text import BEGIN, END

LONGEST = 100
CHOOSING = 3  # rounds in which an engine is chosen, before it is timed
Named = dict[str, Tensor]


def marian(ours: EncoderDecoder) -> MarianMTModel:
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
        dropout=0.0,
        pad_token_id=BEGIN,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        forced_eos_token_id=None,
        attn_implementation="sdpa",
    )
    theirs = MarianMTModel(config).eval()
    missing = theirs.load_state_dict(renamed(ours), strict=False).missing_keys
    assert all("embed_positions" in name or name == "final_logits_bias" for name in missing), missing
    theirs.final_logits_bias.zero_()
    theirs.tie_weights()
    return theirs


def renamed(ours: EncoderDecoder) -> Named:
    weights = ours.state_dict()
    names: Named = {"model.shared.weight": weights["source.embedding.weight_VD"]}
    names |= {f"model.{side}.embed_tokens.weight": names["model.shared.weight"] for side in ("encoder", "decoder")}
    names["lm_head.weight"] = names["model.shared.weight"]
    for side, stack in ("encoder", ours.encoder), ("decoder", ours.decoder):
        for layer in range(len(stack.blocks)):
            of, to = f"{side}.blocks.{layer}", f"model.{side}.layers.{layer}"
            names |= apart(weights, f"{of}.mixer.heads.qkv", *(f"{to}.self_attn.{part}_proj" for part in "qkv"))
            names |= apart(weights, f"{of}.mixer.heads.out", f"{to}.self_attn.out_proj")
            names |= norm(weights, f"{of}.around_mixer.norm_sum", f"{to}.self_attn_layer_norm")
            names |= apart(weights, f"{of}.feed_forward.layer.inputs", f"{to}.fc1")
            names |= apart(weights, f"{of}.feed_forward.layer.out", f"{to}.fc2")
            names |= norm(weights, f"{of}.around_feed_forward.norm_sum", f"{to}.final_layer_norm")
            if side == "decoder":
                names |= apart(weights, f"{of}.cross.heads.q", f"{to}.encoder_attn.q_proj")
                names |= apart(weights, f"{of}.cross.heads.kv", *(f"{to}.encoder_attn.{part}_proj" for part in "kv"))
                names |= apart(weights, f"{of}.cross.heads.out", f"{to}.encoder_attn.out_proj")
                names |= norm(weights, f"{of}.around_cross.norm_sum", f"{to}.encoder_attn_layer_norm")
    return names


def apart(weights: Named, of: str, *names: str) -> Named:
    """One linear map of ours that stands for several of theirs."""
    parts = {kind: weights[f"{of}.{kind}"].chunk(len(names)) for kind in ("weight", "bias")}
    return {f"{name}.{kind}": parts[kind][place] for kind in parts for place, name in enumerate(names)}


def norm(weights: Named, of: str, name: str) -> Named:
    return {f"{name}.weight": weights[f"{of}.gain_D"], f"{name}.bias": weights[f"{of}.bias_D"]}


def peer(theirs: MarianMTModel, task: TranslateTask, beam: int) -> Callable[[Sequence[str]], list[str]]:
    @torch.inference_mode()
    def write(texts: Sequence[str]) -> list[str]:
        rows = [[*row, END] for row in task.codecs.source.encode(list(texts))]
        width = max(map(len, rows))
        x_BT = torch.tensor([row + [BEGIN] * (width - len(row)) for row in rows])
        real_BT = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        out = theirs.generate(
            x_BT,
            attention_mask=real_BT,
            num_beams=beam,
            do_sample=False,
            max_new_tokens=LONGEST,
            length_penalty=1.0,
            early_stopping="never" if beam > 1 else False,
        )
        return task.target.decode_many([[token for token in row if token > END] for row in out.tolist()])

    return write


def own(
    model: Model, beam: int, batch: int | None, engine: Literal["auto", "own"]
) -> Callable[[Sequence[str]], list[str]]:
    """As `seqloom predict` writes texts. auto: by CTranslate2, where that is installed and measures faster."""
    changes = [f"generation.longest={LONGEST}", 'generation.length={kind="mean"}', f'generation.engine="{engine}"']
    changes += [] if batch is None else [f"generation.batch={batch}"]
    settings = generation_of(model.opened[0], changes, beam)

    def write(texts: Sequence[str]) -> list[str]:
        model.look_over([Question(text) for text in texts])
        asked = [model.prepare(Question(text), number, settings) for number, text in enumerate(texts)]
        said = {number: answers[0].text for number, answers in model.answer(asked, settings, wanted="text")}
        return [said[number] for number in range(len(texts))]

    return write


def check(model: Model, theirs: MarianMTModel) -> None:
    """The first scores, for a few sources of one length."""
    ours = model.networks[0]
    assert isinstance(ours, EncoderDecoder)
    x_BT, y_BT = torch.randint(5, 500, (3, 7)), torch.randint(5, 500, (3, 9))
    with torch.inference_mode():
        said = ours.scores(ours(x_BT, Padded.whole(3, 7), y_BT, Padded.whole(3, 9)))
        theirs_said = theirs(x_BT, decoder_input_ids=y_BT).logits
    apart = (said - theirs_said).abs().max().item()
    assert apart < 1e-3, f"not the same model: scores differ by {apart}"


def timed(write: Callable[[Sequence[str]], list[str]], batches: list[list[str]]) -> tuple[float, list[str]]:
    began = time.perf_counter()
    said = [text for batch in batches for text in write(batch)]
    return time.perf_counter() - began, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run")
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--batches", type=int, nargs="+", default=[64])
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--order", choices=["sorted", "file"], default="sorted", help="of transformers' batches")
    parser.add_argument("--same-batch", action="store_true")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    model = seqloom.load(asked.run, device="cpu")
    assert isinstance(model.task, TranslateTask)
    network = model.networks[0]
    assert isinstance(network, EncoderDecoder)
    theirs = marian(network)
    check(model, theirs)
    lines = asked.file.read_text(encoding="utf-8").splitlines()[: asked.sentences]
    source = model.task.codecs.source
    texts = lines if asked.order == "file" else sorted(lines, key=lambda text: len(source.encode([text])[0]))
    machine, results = describe(), []
    print(machine)
    for batch in asked.batches:
        some = texts if batch > 1 else texts[:: max(1, len(texts) // 64)]
        batches = [some[i : i + batch] for i in range(0, len(some), batch)]
        for beam in asked.beams:
            same = batch if asked.same_batch or batch == 1 else None
            systems = {
                "seqloom": own(model, beam, same, "own"),
                "engine": own(model, beam, same, "auto"),
                "transformers": peer(theirs, model.task, beam),
            }
            systems = {
                name: write for name, write in systems.items() if name != "engine" or (installed() and beam == 1)
            }
            times: dict[str, list[float]] = {name: [] for name in systems}
            said = dict[str, list[str]]()
            # one sentence after the other is asked for so, and so the engine is chosen
            given = {name: batches if batch == 1 or name == "transformers" else [some] for name in systems}
            for name, write in systems.items():
                for _ in range(CHOOSING if name == "engine" else 1):
                    timed(write, given[name] if name == "engine" else batches[:1])
            chosen = "; ".join(model.engine_notes())
            for _ in range(asked.rounds):
                for name, write in systems.items():
                    # all at once for ours: it cuts the batches itself, and refills them
                    took, said[name] = timed(write, given[name])
                    times[name].append(took)
            best = {name: statistics.median(found) for name, found in times.items()}
            equal = sum(a == b for a, b in zip(said["seqloom"], said["transformers"], strict=True)) / len(some)
            results.append(
                {
                    "batch": batch,
                    "beam": beam,
                    "sentences": len(some),
                    "ratio": best["transformers"] / best["seqloom"],
                    "engine": chosen,
                    "per second": {name: len(some) / each for name, each in best.items()},
                    "equal texts": equal,
                }
            )
            print(
                f"batch {batch:3}  beam {beam}:  seqloom {len(some) / best['seqloom']:7.1f}/s   "
                f"transformers {len(some) / best['transformers']:7.1f}/s   {results[-1]['ratio']:.2f}×   "
                f"{equal:.1%} equal texts",
                flush=True,
            )
            if "engine" in best:
                same_texts = sum(a == b for a, b in zip(said["engine"], said["transformers"], strict=True)) / len(some)
                print(
                    f"   with an engine chosen: {len(some) / best['engine']:7.1f}/s   "
                    f"{best['transformers'] / best['engine']:.2f}×   {same_texts:.1%} equal texts   {chosen}",
                    flush=True,
                )
    if asked.out:
        asked.out.write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
