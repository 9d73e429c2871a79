"""Random walks over a lake: steps drawn from a seed, taken by several engines, and checked."""
