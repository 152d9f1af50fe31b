"""Who answers: language models, cascades, files of judges, and what their calls cost."""
