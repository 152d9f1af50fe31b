"""Let a language model write completions to compare, and verify them by the judge."""
