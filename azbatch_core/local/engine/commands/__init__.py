"""What requests make an account do, by resource. What goes on by itself is one folder up."""
