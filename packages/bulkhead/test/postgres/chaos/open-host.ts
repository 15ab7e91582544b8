import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { createHost, defineTool } from '../../../src/index.ts'
import { CONFIG, LIMIT, PATIENT_MS, PAYERS, TIMES, type HostOutcome, type Work } from './chaos-work.ts'
import { insist } from './patience.ts'

export interface ChaosHost {
  readonly methods: Readonly<Record<string, (...args: never[]) => Promise<HostOutcome>>>
  close(): Promise<void>
}

/** A host of the chaos test, in this process. */
export async function openChaosHost(folder: string, cache: string, url: string): Promise<ChaosHost> {
  // A busy machine may answer later than these times allow.
  const store = await insist(() => openPostgresStore({ url }, TIMES))
  const host = await insist(() => createHost({
    workspace: folder, home: join(folder, 'home'), cache, store, trust: 'declined', env: {},
    config: { ...CONFIG, budget: { calls: LIMIT }, audit: { enabled: true } },
  }))

  const input = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
  /** One line for each time that a tool ran. What is written is there also after kill -9. */
  const ran = (tool: string, n: number, callId: string): void =>
    appendFileSync(join(folder, 'ran.jsonl'), `${JSON.stringify({ tool, n, callId })}\n`)
  const acts = (name: string) => defineTool({
    name, description: 'Acts in the process of the host.', input, requires: {}, mode: 'external', effects: 'once',
    gated: name === 'asks_first', deriveApprovalKey: () => 'act',
    execute({ n }, { callId }) {
      ran(name, n, callId)
      return { n }
    },
  })
  await host.register([
    acts('acts'), acts('asks_first'),
    defineTool({
      name: 'looks', description: 'Has no effect.', input, requires: {}, gated: false, mode: 'read', effects: 'none',
      execute({ n }, { callId }) {
        ran('looks', n, callId)
        return { n }
      },
    }),
  ])

  let notRecorded = 0
  host.on((event) => {
    if (event.type === 'SuppressedError' && event.source === 'recording an outcome') notRecorded++
  }, ['SuppressedError'])

  const sessions = new Map(await Promise.all(PAYERS.map(async (id) =>
    [id, await insist(() => host.openSession({ principal: { id }, mode: 'yolo' }))] as const)))
  const asking = await insist(() => host.openSession({ principal: { id: 'asks' }, mode: 'ask', pause: true }))

  const callOf = ({ id, tool, n, key }: Work) => ({ id, name: tool, arguments: { n }, idempotencyKey: key })
  const methods = {
    call: async (work: Work): Promise<HostOutcome> => {
      const before = notRecorded
      const session = work.payer === 'asks' ? asking : sessions.get(work.payer)!
      const outcome = await session.call(callOf(work), { timeoutMs: PATIENT_MS })
      return notRecorded > before ? { ...outcome, mayBeLost: true } : outcome
    },
    answer: async (paused: string, answer?: object) => asking.resume(paused, answer as never),
  }
  return { methods, close: async () => void await host.close() }
}
