"""What a run leaves behind: tables by cluster, a summary, ordinary plans; replaced as one."""
