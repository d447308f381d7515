"""What is told of finished runs: pooled rows, the bench's own conditions, verdicts, table and pictures."""
