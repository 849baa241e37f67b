"""The result of a run: tables by cluster, a summary, ordinary plans; replaced as a whole."""
