"""The analyst's pages: ask by a form or in SQL, see the price before paying, read answers again for nothing."""
