"""What drawings and the page share: how a sample looks, in which colours, and what is beside it."""
