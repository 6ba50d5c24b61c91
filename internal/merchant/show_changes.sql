SELECT change, who, reason, changed_at
FROM merchant_change
WHERE merchant_id = $1
ORDER BY changed_at DESC, id DESC
LIMIT $2
