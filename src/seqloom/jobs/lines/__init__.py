"""Questions out of files and streams, answers into them: lines, rows, JSON, files that go on where they stopped."""
