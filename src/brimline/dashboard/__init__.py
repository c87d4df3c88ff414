"""What sessions went through, as pages: `brimline dashboard`, `brimline report`, `brimline replay`."""
