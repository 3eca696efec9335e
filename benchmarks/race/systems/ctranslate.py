"""CTranslate2, with seqloom's weights, in full precision and in eight bits."""

import os
from collections.abc import Sequence
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.specs import common_spec, transformer_spec

import seqloom
from race.copying import copying_run, language_run
from race.systems.own import sample_prompts
from race.work import BEGIN, END, LONGEST, Job, Sample, Told, Turn, UnableError, Write, lines
from seqloom.export.ctranslate2_model import convert
from seqloom.models.decoder_only import DecoderOnly


def ready(job: Job, folder: Path, device: str, kind: str) -> Turn:
    kind = "float16" if device == "cuda" and kind == "float32" else kind
    match job:
        case Write():
            return _write(job, folder, device, kind)
        case Sample():
            return _sample(job, folder, device, kind)
        case _:
            raise UnableError("it does not train")


def _threads() -> int:
    return int(os.environ.get("OMP_NUM_THREADS", 0))


def _write(job: Write, folder: Path, device: str, kind: str) -> Turn:
    model = seqloom.load(copying_run(job.size, folder), device="cpu")
    task, place = model.task, folder / f"ctranslate2-{job.size.width}-{os.getpid()}"
    convert(model.networks[0], place, BEGIN, END, 0)
    texts = lines(job)
    # as it advises for many sentences: batches side by side, a thread each
    beside = max(1, min(_threads(), len(texts) // job.batch)) if job.batch > 1 and device == "cpu" else 1
    translator = ctranslate2.Translator(
        str(place),
        device=device,
        compute_type=kind,
        inter_threads=beside,
        intra_threads=_threads() // beside,
    )
    tokens = sum(text.count(" ") + 2 for text in texts)

    def write(some: Sequence[str]) -> list[str]:
        """All at once: it sorts them itself."""
        rows = [[str(token) for token in (*row, END)] for row in task.codecs.source.encode(list(some))]
        found = translator.translate_batch(
            rows,
            beam_size=job.beam,
            max_batch_size=job.batch,
            max_decoding_length=LONGEST + 1,
            length_penalty=1.0,
        )
        return task.target.decode_many([[int(token) for token in one.hypotheses[0]] for one in found])

    def turn(i: int) -> Told:
        said = [write([text])[0] for text in texts] if job.batch == 1 else write(texts)
        return Told(tokens, texts=said)

    return turn


def _sample(job: Sample, folder: Path, device: str, kind: str) -> Turn:
    model = seqloom.load(language_run(job, folder), device="cpu")
    place = folder / f"ctranslate2-language-{os.getpid()}"
    _convert_text(model.networks[0], place)
    generator = ctranslate2.Generator(str(place), device=device, compute_type=kind, intra_threads=_threads())
    vocabulary = model.task.codecs.vocabulary
    prompts = [[str(token) for token in (BEGIN, *row)] for row in vocabulary.encode(sample_prompts(job))]

    def turn(i: int) -> Told:
        found = generator.generate_batch(
            prompts,
            max_length=job.tokens,
            min_length=job.tokens,
            sampling_topk=0,
            sampling_temperature=1.0,
            include_prompt_in_result=False,
        )
        rows = [one.sequences_ids[0] for one in found]
        vocabulary.decode_many(rows)
        return Told(sum(map(len, rows)))

    return turn


def _convert_text(network: DecoderOnly, place: Path) -> None:
    stack = network.settings.side("decoder")
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        stack.depth, stack.mixers()[0].heads, pre_norm=True, activation=common_spec.Activation.GELUTanh
    )
    decoder, weights = spec.decoder, network.state_dict()

    def array(name: str) -> np.ndarray:
        return np.ascontiguousarray(weights[name].float().numpy())

    def fill(of: str, to: object, names: tuple[str, str], its: tuple[str, str]) -> None:
        for mine, other in zip(names, its, strict=True):
            setattr(to, other, array(f"{of}.{mine}"))

    linear, norm = (("weight", "bias"), ("weight", "bias")), (("gain_D", "bias_D"), ("gamma", "beta"))
    decoder.scale_embeddings = False
    decoder.embeddings.weight = array("input.embedding.weight_VD")
    decoder.position_encodings.encodings = array("input.positions.weight_PD")
    decoder.projection.weight = decoder.embeddings.weight
    fill("decoder.norm", decoder.layer_norm, *norm)
    for number, layer in enumerate(decoder.layer):
        block = f"decoder.blocks.{number}"
        fill(f"{block}.mixer.heads.qkv", layer.self_attention.linear[0], *linear)
        fill(f"{block}.mixer.heads.out", layer.self_attention.linear[1], *linear)
        fill(f"{block}.around_mixer.norm_in", layer.self_attention.layer_norm, *norm)
        fill(f"{block}.feed_forward.layer.inputs", layer.ffn.linear_0, *linear)
        fill(f"{block}.feed_forward.layer.out", layer.ffn.linear_1, *linear)
        fill(f"{block}.around_feed_forward.norm_in", layer.ffn.layer_norm, *norm)
    spec.register_vocabulary([str(token) for token in range(network.sizes.target)])
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = "0", str(BEGIN), str(END)
    place.mkdir()
    spec.validate()
    spec.save(str(place))
