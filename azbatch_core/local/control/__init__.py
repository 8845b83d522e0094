"""What the real service does not have: signed requests below `/_local` that steer this one."""
