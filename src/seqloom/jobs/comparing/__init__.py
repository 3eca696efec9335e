"""The parts of compare: systems, the work in processes of their own, the table."""
