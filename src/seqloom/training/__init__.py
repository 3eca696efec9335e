"""How a model learns: optimisers, schedules, averages, precision, and what people see of it."""
