"""Write HTML pages: one style, a template per page, and sentences in two languages as data."""
