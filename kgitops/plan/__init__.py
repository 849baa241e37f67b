"""Planning: turns differences into changes and requests, by pure functions over values."""
