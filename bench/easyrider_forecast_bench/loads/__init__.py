"""What is forecast: synthetic loads by seed, and recordings of real boards."""
