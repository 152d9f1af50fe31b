"""Where models' replies are kept: SQLite by default, PostgreSQL for teams."""
