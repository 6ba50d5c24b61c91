-- A finished window moves the mark only where it leaves no gap behind it.
UPDATE drift_scanned
SET scanned_until = $4
WHERE provider_account = $1
  AND identity = $2
  AND scanned_until >= $3
  AND scanned_until < $4
