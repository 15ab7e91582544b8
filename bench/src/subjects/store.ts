import { openPostgresStore } from '@bulkhead/store-postgres'
import pg from 'pg'
import { newSchema, sharedPostgres } from '../../../scripts/postgres/server.ts'
import { defineSubject, inTurn, type Runner, type Side } from '../harness/subject.ts'
import { payload, PAYLOAD_BYTES } from '../loads/echo.ts'
import { guardedCall } from './host-calls.ts'

const TERMS = { placement: 'thread', tools: 1, audit: true } as const
const inFile = guardedCall({ name: 'guarded call with a file', ...TERMS })
const inPostgres = guardedCall({
  name: 'guarded call with PostgreSQL', ...TERMS,
  open: async () => openPostgresStore({ url: (await sharedPostgres()).url(newSchema()) }),
})

/** What a call without effects has to wait for: one statement that writes its row, without waiting for the disk. */
async function bareRoundTrip(): Promise<Runner> {
  const schema = newSchema()
  const client = new pg.Client({ connectionString: (await sharedPostgres()).url(), pipeline: true })
  await client.connect()
  await client.query(`SET synchronous_commit = off; CREATE TABLE ${schema} (number bigint PRIMARY KEY, call text NOT NULL)`)
  let number = 0
  return {
    async run(i) {
      await client.query({
        name: 'bare', text: `INSERT INTO ${schema} VALUES ($1, $2)`, values: [++number, JSON.stringify(payload(i))],
      })
      return payload(i)
    },
    stop: () => client.end(),
  }
}

const bare: Side<'bare statement that writes a row'> = {
  name: 'bare statement that writes a row', answer: payload, start: bareRoundTrip,
}

/** What a call with PostgreSQL is compared with. */
const both = inTurn('guarded call with a file, and the bare statement', bare, inFile)

export const store = defineSubject({
  title: `Guarded call of a tool that returns ${PAYLOAD_BYTES} bytes, by its store`,
  compares: 'The same call with its records in a file and in PostgreSQL on this machine, and the one round trip that a '
    + 'call without effects waits for, measured bare in the same run.',
  sides: [bare, inFile, both, inPostgres],
  modes: [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }],
  ratios: [{ side: inPostgres.name, measure: 'p50', is: '≤', ratio: 1.3, against: both.name }],
})
