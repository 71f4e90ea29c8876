"""Messages between two GPUs behind others, beside the same messages alone."""
