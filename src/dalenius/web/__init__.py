"""The console: a service and pages for stewards, analysts and the people in the data (`dalenius serve`)."""
