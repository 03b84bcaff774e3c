"""Many runs, one after the other, resumed where they stopped."""
