"""seqloom trains, runs and opens up models that read one sequence and write another."""

__version__ = "0.1.0.dev0"
