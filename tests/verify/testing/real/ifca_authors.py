"""The training step that IFCA's authors published, as ``ifca.step`` and ``ifca.run``.

It is `TrainCluster.train` in synthetic/train_cluster.py of the GitHub repository jichan3751/ifca.
The environment variable CFL_IFCA_AUTHORS names the folder of that file.
"""

import os
import sys

import torch

sys.path.insert(0, os.environ["CFL_IFCA_AUTHORS"])
_arguments, sys.argv = sys.argv, sys.argv[:1]  # their module reads the command line
from train_cluster import SimpleLinear, TrainCluster  # noqa: E402

sys.argv = _arguments


def _trainer(models, clients):
    """Their trainer with our models and data."""
    torch.set_default_dtype(models.dtype)
    k, d = models.shape
    trainer = TrainCluster.__new__(TrainCluster)
    trainer.config = {"p": k, "d": d, "m": len(clients), "n": None, "score": "set"}
    trainer.dataset = {"data": list(clients), "params": list(models)}
    trainer.criterion = torch.nn.MSELoss()
    trainer.models = [SimpleLinear(input_size=d) for _ in range(k)]
    for model, row in zip(trainer.models, models, strict=True):
        model.weight().data = row[None].clone()
    return trainer


def step(models, clients, step_size):
    """One call of their `train`.  It reports how many clients chose a model, so each is asked."""
    trainer = _trainer(models, clients)
    trainer.train(lr=step_size)
    counts = [_trainer(models, [c]).train(lr=step_size)["cluster_assignment_ct"] for c in clients]
    new = torch.cat([model.weight().data for model in trainer.models])
    return new, torch.tensor(counts).argmax(dim=1)


def run(models, clients, step_size, n_steps):
    """As many calls."""
    for _ in range(n_steps):
        models, labels = step(models, clients, step_size)
    return models, labels
