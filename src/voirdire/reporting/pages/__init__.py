"""Pages: one document, one style, one template per page, sentences in two languages as data."""
