"""Values that are one of several: of one of several types, chosen when the program runs, or None; types that rounds find."""
