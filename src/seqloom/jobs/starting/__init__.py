"""A run that begins from another run's weights."""
