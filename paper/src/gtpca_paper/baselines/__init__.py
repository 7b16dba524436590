"""What the paper compares GT-PCA with, on torch: autoencoders, and the classifier of scores."""
