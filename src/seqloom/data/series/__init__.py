"""Numbers in time: tables with a timestamp column → regular series → windows."""
