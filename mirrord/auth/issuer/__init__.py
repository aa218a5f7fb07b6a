"""Identity providers elsewhere: what an operator says about them, their keys, and how they are asked."""
