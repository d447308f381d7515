"""What the product's forecaster is compared with, one file a library or idea."""
