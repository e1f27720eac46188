"""The local model across processes and languages: public parameters, reports, and a collector of them."""
