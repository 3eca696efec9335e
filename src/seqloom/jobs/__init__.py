"""What the command line and Python both call: a file a job, and the parts of the larger jobs in folders."""
