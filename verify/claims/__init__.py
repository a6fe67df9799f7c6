"""One module per paper: its statements joined to procedures."""
