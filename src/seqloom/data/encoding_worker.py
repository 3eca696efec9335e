"""A process that encodes: `python -c "from seqloom.data.encoding_worker import main; main()"`.

It reads pickles from its standard input (first the encoder, then fields) and writes for each fields (True, columns) or
(False, error) to its standard output. It ends when its input does, so also when the process that started it is killed.
"""

import contextlib
import os
import pickle
import sys
import traceback
from typing import Any, BinaryIO


def main() -> None:
    # what prints by mistake must not stand between the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):  # nobody is there any more
        serve(sys.stdin.buffer, answers)
    os._exit(0)  # without flushing a pipe that nobody reads


def serve(asked: BinaryIO, answers: BinaryIO) -> None:
    encode = pickle.load(asked)
    while True:
        answers.write(_answer(encode, pickle.load(asked)))
        answers.flush()


def _answer(encode: Any, fields: Any) -> bytes:
    try:
        return pickle.dumps((True, encode(fields)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return _error(error)


def _error(error: Exception) -> bytes:
    """The error itself, or what it says if it does not survive the way."""
    try:
        answer = pickle.dumps((False, error))
        pickle.loads(answer)
    except Exception:
        return pickle.dumps((False, RuntimeError("".join(traceback.format_exception(error)))))
    return answer
