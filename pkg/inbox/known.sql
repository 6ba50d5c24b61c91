-- $1 consumer, $2 message ids.
SELECT message_id
FROM processed_message
WHERE consumer = $1 AND message_id = ANY ($2::uuid[])
