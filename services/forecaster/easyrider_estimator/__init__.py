"""What a job will draw before it starts: learned from the fingerprints of jobs that ran, or the nameplate."""
