"""What a model needs that runs in this process: grammar, token texts, shared beginnings."""
