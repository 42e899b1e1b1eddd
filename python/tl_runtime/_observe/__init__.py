"""What the runtime tells of itself: statistics, tracking, profiles, and reports of leaks."""
