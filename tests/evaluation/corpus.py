"""A small corpus: sentences, another reference for each, and two systems of which the second errs more."""

import random

REFERENCES = [
    "The old mill by the river was sold last spring.",
    "Nobody knows how many letters the drawer still holds.",
    "She paid 1,250.50 euros for the violin, and never played it.",
    "When the rain stops, we'll walk home along the canal.",
    "Is there a train to Graz before six o'clock?",
    "Der Bäcker öffnet um sieben, außer sonntags.",
    "Two of the three bridges are closed; take the ferry.",
    "He counted the windows twice and found one too many.",
    "“Leave the key under the stone,” said my aunt.",
    "Yes.",
    "The museum's smallest room shows a single painting.",
    "Their garden has more stones than flowers, but they like it that way.",
    "Please write your name, your address and the date in the box below.",
    "A cold wind from the north-east brought the first snow of the year.",
    "We have measured it again: the table is 2.5 cm too long.",
    "The answer is simple, although it took us a week to find it.",
]
OTHERS = [
    "The old mill at the river has been sold last spring.",
    "No one knows how many letters are still in the drawer.",
    "She spent 1,250.50 euros on the violin but never played it.",
    "Once the rain stops we will walk home by the canal.",
    "Does any train go to Graz before six?",
    "Der Bäcker macht um sieben auf, nur sonntags nicht.",
    "Two of three bridges are shut; use the ferry.",
    "He counted the windows two times and had one too many.",
    "My aunt said: “Put the key under the stone.”",
    "Yes, please.",
    "In the smallest room of the museum hangs one painting.",
    "There are more stones than flowers in their garden, and they like that.",
    "Please fill in name, address and date below.",
    "With a cold north-east wind came the year's first snow.",
    "We measured again: the table is too long by 2.5 cm.",
    "The answer is simple, yet finding it took us a week.",
]


def noisy(texts: list[str], share: float, seed: int) -> list[str]:
    """Words left out, doubled, swapped or cut, here and there."""
    draw = random.Random(seed)
    said = []
    for text in texts:
        words = text.split()
        for at in range(len(words)):
            if draw.random() < share:
                kind = draw.randrange(4)
                words[at] = ("", f"{words[at]} {words[at]}", draw.choice(words), words[at][:-1])[kind]
        said.append(" ".join(filter(None, words)))
    return said


GOOD = noisy(REFERENCES, 0.15, 1)
BAD = [*noisy(REFERENCES, 0.5, 2)[:-1], ""]
MANY = [REFERENCES[at % 16] for at in range(320)]
MANY_GOOD = noisy(MANY, 0.2, 3)
MANY_BETTER = noisy(MANY, 0.17, 4)
MANY_BAD = noisy(MANY, 0.3, 5)
