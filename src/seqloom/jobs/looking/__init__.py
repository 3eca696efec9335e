"""What the studio is told of a model: a file a document, and what they are made of."""
