"""What a reward saw of a training run: steps, alarms, completions; replayed, and sampled from."""
