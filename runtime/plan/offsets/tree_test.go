package offsets
