"""A run behind HTTP: many requests are answered at once by one engine, with the answers of the command line."""
