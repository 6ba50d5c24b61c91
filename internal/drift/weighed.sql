WITH gone AS (
    DELETE FROM drift_seen WHERE scan_id = $1 AND object_id = ANY ($2::text[])),
     failed AS (
         UPDATE drift_seen SET tries = tries + 1 WHERE scan_id = $1 AND object_id = ANY ($3::text[]))
INSERT INTO drift_question (scan_id, operation_id, object_id)
SELECT $1, id, object_id
FROM unnest($4::uuid[], $5::text[]) AS asked (id, object_id)
ORDER BY id, object_id
ON CONFLICT DO NOTHING
