"""What an installation consists of: each piece is planned, applied and removed by itself."""
