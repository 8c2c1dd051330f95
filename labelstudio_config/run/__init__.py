"""The projects of a run: what its folder keeps of them, and what a coordinator does with its batches."""
