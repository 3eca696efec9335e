"""A package, so that its browser is closed before tests elsewhere run event loops of their own (conftest.py)."""
