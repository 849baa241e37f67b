"""A cluster's state and what is declared for it, as rows of Parquet files."""
