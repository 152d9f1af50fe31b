"""Record training runs: steps, alarms and completions, which can be scored again and sampled."""
