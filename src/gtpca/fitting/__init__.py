"""From rows to a fitted model: greedy, in one pose, refined, or from a stream."""
