import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Store } from '@bulkhead/contract'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { newSchema, startPostgres, type PostgresServer } from '../../../scripts/postgres/server.ts'
import { defineSubject, type Runner } from '../harness/subject.ts'
import { payload } from '../loads/echo.ts'

const CAPACITY = 4
/** As long as a call of a tool that waits for another system. */
const WAIT_MS = 500
/** With connections for all of them. */
let server: Promise<PostgresServer> | undefined
function ownServer(): Promise<PostgresServer> {
  server ??= startPostgres({ settings: { max_connections: '900' } })
  return server
}

/** Real statements on a real server, without compartments: each worker waits, and settles. Calls come from one host. */
function workers<const Name extends string>(name: Name, count: number) {
  return {
    name,
    answer: (i: number) => payload(i).text,
    start: async (): Promise<Runner> => {
      const url = (await ownServer()).url(newSchema())
      const open = (): Promise<Store> => openPostgresStore({ url }, { leaseMs: 60_000 })
      const caller = await open()
      const stores: Store[] = []
      for (let n = 0; n < count; n++) {
        // Of its own, because every connection that listens costs each notification something.
        const store = await open()
        stores.push(store)
        await store.placements!.serve({
          id: `w${n}`, labels: [], version: '1.0.0', machine: 'm', pid: process.pid, capacity: CAPACITY, workspaces: [],
        }, (call) => void pause(WAIT_MS).then(() => call.settle(call.body)).catch(() => undefined))
      }
      return {
        async run(i) {
          const end = Promise.withResolvers<string>()
          const id = randomUUID()
          const call = await caller.placements!.place({
            id, demand: { labels: [], major: 1 }, sessionId: 's', callId: id, deadlineMs: 60_000, ticket: 't'.repeat(1_000),
            body: Buffer.from(payload(i).text),
          }, {
            onTaken() {}, onMessage() {}, onBegun() {},
            onEnd: (one) => {
              if (one.is === 'settled') end.resolve(Buffer.from(one.result).toString())
              else end.reject(new Error(`The call ended as ${one.is}.`))
            },
          })
          const text = await end.promise
          void call.forget().catch(() => undefined)
          return text
        },
        async stop() {
          await Promise.all([...stores, caller].map((store) => store.close()))
        },
      }
    },
  }
}

const IN_FLIGHT = 256

export const fleetSizes = defineSubject({
  title: `Calls on 8 to 64 workers that run ${CAPACITY} at once, each for ${WAIT_MS} ms`,
  compares: 'Simulated workers, which only wait, with the statements of real ones, in one process with their caller. '
    + 'Where the rate does not double with the workers, something else is the limit.',
  sides: [
    workers('8 workers', 8), workers('16 workers', 16), workers('32 workers', 32), workers('64 workers', 64),
  ],
  modes: [{ kind: 'throughput', concurrency: IN_FLIGHT }],
  ratios: [
    { side: '16 workers', measure: `${IN_FLIGHT}-way`, against: '8 workers' },
    { side: '32 workers', measure: `${IN_FLIGHT}-way`, against: '8 workers' },
    { side: '64 workers', measure: `${IN_FLIGHT}-way`, against: '8 workers' },
  ],
  rounds: 4,
})
