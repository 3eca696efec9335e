"""What a run answers, by its task, and with which engine: what predict, evaluate, compare, serve and Python all ask."""
