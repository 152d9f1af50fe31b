"""Boolean expressions over propositions, and the completion classes that are made of them."""
