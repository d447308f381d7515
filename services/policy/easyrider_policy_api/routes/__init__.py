"""What can be asked, by noun."""
