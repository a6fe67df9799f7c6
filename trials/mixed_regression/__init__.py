"""Mixed linear regression (Su, Xu & Yang 2022): moment descent, then FedAvg or FedProx."""
