"""From parameters to stored, checksummed trials: engine, executors, streams, store."""
