"""Data-generating models: mixtures, clients, federated data, losses, and how models are matched."""
