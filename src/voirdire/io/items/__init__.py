"""Read items, prompts with one response each, from files and tables, a batch at a time."""
