"""One foreign library or one kind of file each."""
