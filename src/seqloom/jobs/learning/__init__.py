"""The parts of train: what is asked and refused, what is told and scored on the way, what is kept in the end."""
