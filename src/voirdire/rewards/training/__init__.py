"""Record training runs: steps, alarms and completions, which can be replayed and sampled."""
