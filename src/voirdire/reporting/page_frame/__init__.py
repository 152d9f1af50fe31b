"""What the pages stand on: one document, one style, one way to speak, to count and to draw."""
