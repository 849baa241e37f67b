"""Places that manifests come from: a folder, or a git repository that is asked again and again."""
