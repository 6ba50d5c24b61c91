-- What the move's trigger asks, too: nothing of it was sent, or can still be taken, and
-- no commit was lost that could have sent it.
SELECT o.state = 'created'
           AND attempts_that_may_return(o.id) = 0
           AND NOT provider_may_hold(o.id)
           AND o.created_at > coalesce((SELECT max(bumped_at) FROM epoch), '-infinity')
FROM operation o
WHERE o.id = $1
