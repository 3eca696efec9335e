"""`seqloom serve`: trained models behind HTTP."""

from typing import Annotated

import typer


def serve(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN…]",
            help="Folders of runs; each is called as its folder, or NAME=RUN. None: the built-in lecture.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="The address to listen at; 0.0.0.0: all. Set a token then.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: a free one, which is told.")] = 8000,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change a setting of [serving] or [generation]. Many times."),
    ] = None,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, …; auto: a GPU, if there is one.")] = "auto",
) -> None:
    """Answer over HTTP, many requests at once: POST /v1/predict, and as OpenAI and Ollama do. /docs tells all.

    The page at / is the studio: what a model says, and why. It also has a model of its own, for a lecture.

    \b
    Examples:
      seqloom serve
      seqloom serve runs/demo-dates
      seqloom serve runs/pairs lm=runs/stories --port 9000 --set serving.memory=4
      SEQLOOM_TOKEN=$(openssl rand -hex 32) seqloom serve runs/pairs --host 0.0.0.0 --set serving.hosts='["my.host"]'
      curl localhost:8000/v1/predict -d '{"inputs": ["3 Mai 2024"], "n_best": 2}'

    \b
    What it allows, each with --set:
      serving.queue=256           inputs that may wait; further ones are sent away, with a time to come again
      serving.seconds=60          that a request may take
      serving.body=1048576        bytes of a request; serving.inputs=64 texts in it
      serving.input_tokens=4096   of a text; serving.max_tokens=4096 of an answer; serving.n_best=16, beams too
      serving.memory=4            GB of weights that are held; those asked least recently make room
      serving.token_file=FILE     every request must carry its text; so does SEQLOOM_TOKEN in the environment
      serving.hosts='["a.b"]'     names under which it is reached; serving.origins: pages that may ask it
      serving.chat.kind=named     messages of a chat with the names of their roles before them
      serving.lecture=false       without the built-in model
      serving.look_tokens=512     of a text that is looked into; serving.look_memory=0.25 GB kept of it
      generation.beam=1           how models write, if a request says nothing

    SIGTERM and Ctrl-C finish what was accepted (serving.stop_seconds=30); SIGHUP loads the runs anew, and so does a
    new model in a run's folder.
    """
    from pathlib import Path

    from seqloom.jobs.evaluating.system_name import name_systems
    from seqloom.serving.log import log
    from seqloom.serving.server import serve as job

    names, folders = name_systems(runs or [], "run")
    job(dict(zip(names, map(Path, folders), strict=True)), host, port, changes or (), device, log)
