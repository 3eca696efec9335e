"""What the command line and Python both call: a file a job."""
