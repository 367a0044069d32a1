"""What is launched from a clone: `accelerate launch -m trainers.extract …`."""
