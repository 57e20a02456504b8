"""From texts to vectors: which embedder, and whether it still embeds as it did."""
