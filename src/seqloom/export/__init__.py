"""Models in other programs' forms: each is verified against the original before it is used."""
