"""What every service's lists have in common, with neither a service nor dlt: requests, paging, cursors, values."""
