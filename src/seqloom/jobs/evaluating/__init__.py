"""The parts of evaluate: what is evaluated, what was said to it, the report."""
