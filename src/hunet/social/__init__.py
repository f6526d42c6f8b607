"""What a node learns about people. Pure data structures and functions: no clock, no I/O, no randomness."""
