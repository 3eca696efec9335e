"""Words that only a file of word vectors has: with them in the vocabulary, what training never saw is known too."""

from seqloom.jobs.recipes.recipe import Recipe
from seqloom.layers.embedding import Tokens
from seqloom.layers.word_vectors import read_word_vectors


def vector_words(recipe: Recipe) -> str:
    """All of them, with spaces between; "" where the recipe does not ask for them."""
    read = recipe.model.input
    if not isinstance(read, Tokens) or read.vectors is None or not read.all_words:
        return ""
    return " ".join(word for word, _ in read_word_vectors(read.vectors) if not any(map(str.isspace, word)))
