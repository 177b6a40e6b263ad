"""backcut and its peers side by side, each row with whether the answer was right: ``python benches/side_by_side.py``."""
