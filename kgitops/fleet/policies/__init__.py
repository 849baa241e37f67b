"""The same judges at fleet scale: opened once a process, shown the whole cluster on demand."""
