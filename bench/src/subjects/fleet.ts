import { openPostgresStore } from '@bulkhead/store-postgres'
import { PgBoss } from 'pg-boss'
import { newSchema, sharedPostgres } from '../../../scripts/postgres/server.ts'
import { defineSubject, inTurn, type Runner, type Side } from '../harness/subject.ts'
import { payload, PAYLOAD_BYTES } from '../loads/echo.ts'
import { startWorkers } from '../loads/workers.ts'
import { guardedCall } from './host-calls.ts'

const TERMS = { placement: 'process', tools: 1, audit: true } as const
const LABEL = 'bench'

/** The same call of the same host. Its extension runs here, or on so many workers. */
function placedCall<const Name extends string>(name: Name, count: number, capacity: number, code?: string) {
  let url = ''
  return guardedCall({
    ...TERMS, name, ...(code !== undefined && { code }),
    open: async () => {
      url = (await sharedPostgres()).url(newSchema())
      return openPostgresStore({ url })
    },
    ...(count > 0 && {
      config: { extensions: { echoes0: { runsOn: { labels: [LABEL] } } } },
      prepare: (host, home, cleanup) => startWorkers({ host, home, url, count, capacity, label: LABEL }, cleanup),
    }),
  })
}

/**
 * A job of pg-boss with the arguments and the result of a call: sent, fetched, completed, and its result read, one after the
 * other in one process. So nothing has to wake up, and no interval of polling passes.
 */
async function bareJob(): Promise<Runner> {
  const boss = new PgBoss({
    // Like the store: compiling a statement takes longer than running it.
    connectionString: (await sharedPostgres()).url().replace(/\?.*/, '?options=-c%20jit%3Doff'), schema: newSchema(),
    supervise: false, schedule: false,
  })
  await boss.start()
  await boss.createQueue('calls', { retryLimit: 0 })
  return {
    async run(i) {
      await boss.send('calls', payload(i))
      const [job] = await boss.fetch<ReturnType<typeof payload>>('calls')
      await boss.complete('calls', job!.id, job!.data)
      const [done] = await boss.findJobs('calls', { id: job!.id })
      return done!.output
    },
    stop: () => boss.stop({ graceful: false }),
  }
}

const near = placedCall('local call', 0, 0)
const far = placedCall('call on a worker', 1, 16)
const job: Side<'bare job of pg-boss'> = { name: 'bare job of pg-boss', answer: payload, start: bareJob }
const both = inTurn('bare job, and a local call', job, near)

export const fleet = defineSubject({
  title: `Guarded call of a tool that returns ${PAYLOAD_BYTES} bytes, on a worker`,
  compares: 'The same call on this machine and on a worker, with the records of both in PostgreSQL, and a bare job of pg-boss '
    + 'with the same arguments and result. Host, worker and server share this machine.',
  sides: [job, near, both, far],
  modes: [{ kind: 'latency' }],
  ratios: [{ side: far.name, measure: 'p50', is: '≤', ratio: 1.3, against: both.name }],
})

const WAITS = 'async (args) => { await new Promise((resolve) => setTimeout(resolve, 500)); return args }'
const one = placedCall('one worker', 1, 4, WAITS)
const two = placedCall('two workers', 2, 4, WAITS)

export const fleetWaiting = defineSubject({
  title: 'Calls of a tool that waits for 500 ms, on workers',
  compares: 'One worker that runs four calls at once, against two of them.',
  sides: [one, two],
  modes: [{ kind: 'throughput', concurrency: 16 }],
  ratios: [{ side: two.name, measure: '16-way', is: '≥', ratio: 1.8, against: one.name }],
  rounds: 10,
})
