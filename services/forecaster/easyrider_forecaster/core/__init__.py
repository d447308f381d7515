"""What will be drawn: arrays over groups of boards, pure functions of samples and the time handed in."""
