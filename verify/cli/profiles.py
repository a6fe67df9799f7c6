"""The names of the profiles, for help and completion that load nothing else."""

PROFILE_NAMES = ("quick", "standard", "full")
