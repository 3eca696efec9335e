"""How many examples a quick property is tried on: more than the slow laws, and no fewer when one goes exploring."""

from hypothesis import settings

assert settings.default is not None
many = settings(max_examples=max(40, settings.default.max_examples))
