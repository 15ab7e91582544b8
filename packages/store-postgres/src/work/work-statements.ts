import { statement } from '../connection/database.ts'

const LATE = (heartbeat: string): string => `(${heartbeat}.at < clock_timestamp() - interval '@GONE')`
const ENDED = (seat: string): string => `(${seat}.ended IS NOT NULL OR ${seat}.taken_by IS NOT NULL)`
const GONE = (seat: string, heartbeat: string): string => `(${ENDED(seat)} OR ${LATE(heartbeat)})`
/** The hosts of this tenant. A condition follows. */
const SEATS = (seat: string, heartbeat: string): string => `@.seat AS ${seat} JOIN @.heartbeat AS ${heartbeat}
  ON ${heartbeat}.tenant = @TENANT AND ${heartbeat}.seat = ${seat}.id WHERE ${seat}.tenant = @TENANT`
/** The freeze of the operator stands above that of the tenant. */
const FROZEN = 'coalesce(held, frozen) AS frozen'

/** Only for this transaction. What others act on is never less durable than the server is set to make it. */
const DURABILITY = `set_config('synchronous_commit', CASE WHEN NOT $2::boolean THEN 'off'
  WHEN current_setting('synchronous_commit') = 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`

/**
 * The row that a freeze, a change of approvals and a take-over of any host change: they wait for this shared lock, and
 * it waits for them and reads the row again. Everything that a start depends on is in it, because the rest of a statement
 * sees what was there when the statement began.
 */
const STATE = `SELECT revision, epoch, ${FROZEN}, ${DURABILITY} FROM @.gate WHERE tenant = @TENANT FOR SHARE`

const MAY_START = (revision: string): string =>
  `state.frozen IS NULL AND state.epoch = $3 AND (${revision} IS NULL OR ${revision} = state.revision)`
const AGAIN = 'ON CONFLICT (tenant, seat, number) DO UPDATE SET call = excluded.call, begun = excluded.begun'

/**
 * Starts one call. Returns no row if it may not start: then the gate says why. Its plan is simpler than the next one,
 * which saved a sixth of its time.
 */
export const START = statement('call_start', `
  INSERT INTO @.open_call (seat, number, call, begun) SELECT $1, $4::bigint, $5, $6 FROM (${STATE}) AS state
  WHERE ${MAY_START('$7::bigint')} ${AGAIN} RETURNING true AS started`)

/** Starts calls that came while another start was under way. */
export const START_ALL = statement('call_start_all', `
  WITH state AS MATERIALIZED (${STATE}),
  started AS (
    INSERT INTO @.open_call (seat, number, call, begun) SELECT $1, one.number, one.call, one.begun
    FROM unnest($4::bigint[], $5::text[], $6::text[], $7::bigint[]) AS one (number, call, begun, revision), state
    WHERE ${MAY_START('one.revision')} ${AGAIN} RETURNING number
  )
  SELECT state.frozen, state.epoch = $3 AS held, ARRAY(SELECT number::text FROM started) AS started FROM state`)

/** Writes what calls have begun. A freeze does not stop what runs. */
export const NOTE = statement('call_note', `
  WITH state AS MATERIALIZED (${STATE}),
  noted AS (
    INSERT INTO @.open_call (seat, number, call, begun) SELECT $1, one.number, one.call, one.begun
    FROM unnest($4::bigint[], $5::text[], $6::text[]) AS one (number, call, begun), state WHERE state.epoch = $3 ${AGAIN}
  )
  SELECT state.epoch = $3 AS held FROM state`)

/** Writes calls that wait. What a start has written meanwhile is newer. */
export const SAVE = statement('call_save', `
  INSERT INTO @.open_call (seat, number, call, begun) SELECT seat.id, one.number, one.call, one.begun
  FROM unnest($2::bigint[], $3::text[], $4::text[]) AS one (number, call, begun),
    (SELECT seat.id FROM @.seat AS seat WHERE seat.tenant = @TENANT AND seat.id = $1 AND NOT ${ENDED('seat')} FOR SHARE) AS seat
  ON CONFLICT DO NOTHING`)

export const END = statement('call_end', `
  DELETE FROM @.open_call WHERE tenant = @TENANT AND seat = $1 AND number = ANY($2::bigint[])`)

const GATE_STATE = `gate.revision, gate.number, gate.epoch, ${FROZEN}`
const OWN_GATE = '@.gate AS gate WHERE gate.tenant = @TENANT'
/** A host that lost its seat finds another epoch, and every other host looks whether it still has its own. */
const NEW_EPOCH = (where: string): string => 
  `UPDATE @.gate SET epoch = epoch + 1 WHERE tenant = @TENANT AND EXISTS (SELECT FROM ${where})`

export const JOIN = statement('seat_join', `
  WITH added AS (INSERT INTO @.seat (id, info, knows) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id),
  beating AS (INSERT INTO @.heartbeat (seat) SELECT id FROM added)
  SELECT ${GATE_STATE}, EXISTS (SELECT FROM added) AS added FROM ${OWN_GATE}`)
export const JOINED = statement('seat_joined', `
  SELECT ${GATE_STATE}, true AS added FROM ${OWN_GATE}
  AND EXISTS (SELECT FROM @.seat WHERE tenant = @TENANT AND id = $1 AND info = $2 AND knows = $3)`)

export const BEAT = statement('seat_beat', `
  WITH beaten AS (
    UPDATE @.heartbeat AS beat SET at = clock_timestamp() FROM @.seat AS seat
    WHERE beat.tenant = @TENANT AND seat.tenant = @TENANT AND seat.id = beat.seat AND seat.id = $1 AND NOT ${ENDED('seat')} RETURNING seat.id
  )
  SELECT ${GATE_STATE}, EXISTS (SELECT FROM beaten) AS held, EXISTS (
    SELECT FROM ${SEATS('other', 'beat')} AND other.id <> $1 AND ${GONE('other', 'beat')}) AS gone
  FROM ${OWN_GATE}`)

export const GATE = statement('gate_read', `SELECT ${GATE_STATE} FROM ${OWN_GATE}`)
export const FREEZE = statement('gate_freeze', `
  WITH done AS (UPDATE @.gate SET frozen = $1, number = number + 1 WHERE tenant = @TENANT RETURNING number)
  SELECT number, pg_notify($2, '') FROM done`)
export const THAW = statement('gate_thaw', `
  WITH before AS (SELECT frozen FROM @.gate WHERE tenant = @TENANT AND frozen IS NOT NULL FOR UPDATE),
  done AS (
    UPDATE @.gate SET frozen = NULL, number = number + 1 FROM before WHERE tenant = @TENANT RETURNING before.frozen
  )
  SELECT (SELECT held IS NOT NULL FROM ${OWN_GATE}) AS held, (SELECT frozen FROM done) AS frozen, pg_notify($1, '')`)

// Of the main tenant.
export const TENANTS = statement('tenant_list', 'SELECT tenant FROM @.gate WHERE tenant <> @TENANT')
export const HELD_TENANTS = statement('tenant_held', `
  SELECT tenant FROM @.gate WHERE tenant <> @TENANT AND held IS NOT NULL`)
export const HOLD = statement('tenant_hold', `
  WITH done AS (UPDATE @.gate SET held = $3, number = number + 1 WHERE tenant = $1 RETURNING number)
  SELECT number, pg_notify($2, '') FROM done`)
export const RELEASE = statement('tenant_release', `
  WITH done AS (UPDATE @.gate SET held = NULL, number = number + 1 WHERE tenant = $1 RETURNING number)
  SELECT number, pg_notify($2, '') FROM done`)

export const DESCRIBE = statement('seat_describe', 'UPDATE @.seat SET info = $2 WHERE tenant = @TENANT AND id = $1')
export const SHOW = statement('seat_show', `
  WITH hidden AS (
    DELETE FROM @.shown AS old USING unnest($2::text[], $3::text[], $4::text[]) AS one (kind, id, value)
    WHERE old.tenant = @TENANT AND old.seat = $1 AND old.kind = one.kind AND old.id = one.id AND one.value IS NULL
  )
  INSERT INTO @.shown (seat, kind, id, value)
  SELECT seat.id, one.kind, one.id, one.value
  FROM unnest($2::text[], $3::text[], $4::text[]) AS one (kind, id, value), @.seat AS seat
  WHERE one.value IS NOT NULL AND seat.tenant = @TENANT AND seat.id = $1
  ON CONFLICT (tenant, seat, kind, id) DO UPDATE SET value = excluded.value`)

/** The host that asks acts on the answer, so a late one is gone from then on, also if it comes back. */
export const IS_GONE = statement('seat_gone', `
  WITH marked AS (
    UPDATE @.seat AS seat SET ended = clock_timestamp() FROM @.heartbeat AS beat
    WHERE seat.tenant = @TENANT AND beat.tenant = @TENANT AND beat.seat = seat.id AND seat.id = $1 AND NOT ${ENDED('seat')} AND $2::boolean AND ${LATE('beat')}
    RETURNING seat.id
  ), told AS (${NEW_EPOCH('marked')})
  SELECT EXISTS (SELECT FROM marked)
    OR NOT EXISTS (SELECT FROM @.seat AS seat WHERE seat.tenant = @TENANT AND seat.id = $1 AND NOT ${ENDED('seat')}) AS gone,
    EXISTS (SELECT FROM ${SEATS('other', 'pulse')} AND other.id = $1 AND ${LATE('pulse')}) AS late`)

/** The claim of a host that is gone itself is void. */
export const CLAIM = statement('seat_claim', `
  WITH free AS (
    SELECT seat.id FROM ${SEATS('seat', 'beat')} AND seat.id = $1 AND (${ENDED('seat')} OR ($3::boolean AND ${LATE('beat')})) AND (
      seat.taken_by IS NULL OR seat.taken_by = $2 OR NOT EXISTS (
        SELECT FROM ${SEATS('other', 'pulse')} AND other.id = seat.taken_by AND NOT ${GONE('other', 'pulse')}))
    FOR UPDATE OF seat
  ), claimed AS (
    UPDATE @.seat AS seat SET taken_by = $2, ended = coalesce(seat.ended, clock_timestamp())
    FROM free WHERE seat.tenant = @TENANT AND seat.id = free.id RETURNING seat.id
  ), told AS (${NEW_EPOCH('claimed')})
  SELECT id FROM claimed`)
export const CALLS_OF = statement('seat_calls', `
  SELECT call, begun FROM @.open_call WHERE tenant = @TENANT AND seat = $1 ORDER BY number`)
export const DISCARD = statement('seat_discard', `
  WITH calls AS (DELETE FROM @.open_call WHERE tenant = @TENANT AND seat = $1),
  removed AS (DELETE FROM @.seat WHERE tenant = @TENANT AND id = $1 RETURNING id), told AS (${NEW_EPOCH('removed')})
  SELECT id FROM removed`)
/** A host that leaves no call leaves nothing. */
export const LEAVE = statement('seat_leave', `
  WITH left_behind AS (
    UPDATE @.seat SET ended = clock_timestamp()
    WHERE tenant = @TENANT AND id = $1 AND EXISTS (SELECT FROM @.open_call WHERE tenant = @TENANT AND seat = $1)
  )
  DELETE FROM @.seat WHERE tenant = @TENANT AND id = $1
    AND NOT EXISTS (SELECT FROM @.open_call WHERE tenant = @TENANT AND seat = $1)`)

/** No join with the gate: new tables have no statistics, and for the rows it expects the server would compile the query. */
export const HOSTS = statement('seat_list', `
  SELECT seat.id, seat.info, (extract(epoch FROM seat.since) * 1000)::bigint AS since,
    greatest(0, extract(epoch FROM clock_timestamp() - beat.at) * 1000)::bigint AS silent,
    ${GONE('seat', 'beat')} AS gone, EXISTS (SELECT FROM ${OWN_GATE} AND coalesce(held, frozen) IS NOT NULL) AS frozen,
    coalesce((SELECT json_agg(json_build_array(call, begun) ORDER BY number) FROM @.open_call
      WHERE open_call.tenant = @TENANT AND open_call.seat = seat.id), '[]') AS calls,
    coalesce((SELECT json_agg(json_build_array(kind, id, value) ORDER BY id COLLATE "C") FROM @.shown
      WHERE shown.tenant = @TENANT AND shown.seat = seat.id), '[]') AS shown
  FROM ${SEATS('seat', 'beat')}
  ORDER BY seat.since, seat.id`)
