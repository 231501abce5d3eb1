"""Control of single joints: moves, locks, limits, assistance."""
