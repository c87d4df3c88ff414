"""What every hook process loads: files, JSON, places, settings in force, the bundle."""
