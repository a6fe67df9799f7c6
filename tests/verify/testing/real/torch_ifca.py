"""A step of IFCA in PyTorch with automatic gradients, as ``ifca.step``."""

import torch


def step(models, clients, step_size):
    """The gradient of the sum of the least losses."""
    theta = models.clone().requires_grad_()
    losses = torch.stack([((y[:, None] - x @ theta.T) ** 2).mean(dim=0) for x, y in clients])
    labels = losses.argmin(dim=1)
    losses[torch.arange(len(clients)), labels].sum().backward()
    return theta - step_size / len(clients) * theta.grad, labels
