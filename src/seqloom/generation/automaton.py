"""What is found while a phrase is written token by token (Knuth, Morris and Pratt 1977)."""

Phrase = tuple[int, ...]


def automaton(phrase: Phrase) -> list[list[int]]:
    """states[s][l]: behind s matched tokens of the phrase comes its token number l; how many are matched then.

    A token that the phrase does not have leads to 0.
    """
    states: list[list[int]] = []
    restart = 0  # the state that all but the first of the matched tokens lead to
    for matched, right in enumerate((*phrase, None)):
        other = states[restart] if matched else [0] * len(phrase)
        states.append([matched + 1 if token == right else state for token, state in zip(phrase, other, strict=True)])
        if 0 < matched < len(phrase):
            restart = states[restart][matched]
    return states


def crossing(written: Phrase, phrase: Phrase) -> list[list[bool]] | None:
    """table[w][s]: s tokens of the phrase are matched, and from its token number w on `written` is written: then the
    phrase is completed on the way. None: never."""
    if phrase[-1] not in written:
        return None
    states, letter = automaton(phrase), {token: number for number, token in enumerate(phrase)}
    table = []
    for first in range(len(written)):
        row = []
        for matched in range(len(phrase) + 1):
            state, found = matched, False
            for token in written[first:]:
                state = states[state][letter[token]] if token in letter else 0
                found |= state == len(phrase)
            row.append(found)
        table.append(row)
    return table if any(map(any, table)) else None
