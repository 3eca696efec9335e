"""What nobody said: the task, the model, its size, the batch, the rate, the number of steps."""
