"""seqloom trains, runs and opens up models that read one sequence and write another."""

from importlib.metadata import version

__version__ = version("seqloom")
