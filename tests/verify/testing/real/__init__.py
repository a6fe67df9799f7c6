"""Programs of others as subjects: adapters only, no code of theirs."""
