"""Clustering of local models (Armacki et al. 2024): convex clustering and the k-means family."""
