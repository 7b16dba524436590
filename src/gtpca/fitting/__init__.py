"""From rows to a fitted model: greedily, in one shared pose, refined, or from a stream."""
