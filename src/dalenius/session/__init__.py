"""Budget, ledger, prices, the release of an answer."""
