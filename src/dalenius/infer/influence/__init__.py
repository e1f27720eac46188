"""What one record does to an M-estimate, and estimates whose noise is made for it after a private test."""
