import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { BulkheadError } from '@bulkhead/contract'
import { openPostgresStore } from '@bulkhead/store-postgres'
import { createHost, defineTool } from '../../../src/index.ts'
import { CONFIG, LIMIT, PATIENT_MS, PAYERS, TIMES, type HostOutcome, type Work } from './chaos-work.ts'

/**
 * A host of the chaos test in its own process. Each line of its input is JSON: `[id, method, ...arguments]`. Each line
 * of its output is `{ id, result }` or `{ id, error }`.
 */
const [folder = '', cache = '', given = '{}'] = process.argv.slice(2)
const { url } = JSON.parse(given) as { readonly url: string }
const store = await openPostgresStore({ url }, TIMES)
const host = await createHost({
  workspace: folder, home: join(folder, 'home'), cache, store, trust: 'declined', env: {},
  config: { ...CONFIG, budget: { calls: LIMIT }, audit: { enabled: true } },
})

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
  [id, await host.openSession({ principal: { id }, mode: 'yolo' })] as const)))
const asking = await host.openSession({ principal: { id: 'asks' }, mode: 'ask', pause: true })

const callOf = ({ id, tool, n, key }: Work) => ({ id, name: tool, arguments: { n }, idempotencyKey: key })
const METHODS: Readonly<Record<string, (...args: never[]) => unknown>> = {
  call: async (work: Work): Promise<HostOutcome> => {
    const before = notRecorded
    const session = work.payer === 'asks' ? asking : sessions.get(work.payer)!
    const outcome = await session.call(callOf(work), { timeoutMs: PATIENT_MS })
    return notRecorded > before ? { ...outcome, mayBeLost: true } : outcome
  },
  answer: (paused: string, answer?: object) => asking.resume(paused, answer as never),
}

const say = (word: object) => process.stdout.write(`${JSON.stringify(word)}\n`)
createInterface({ input: process.stdin }).on('line', (line) => {
  const [id, method, ...args] = JSON.parse(line) as [number, string, ...unknown[]]
  void (async () => METHODS[method]!(...args as never[]))().then(
    (result) => say({ id, result: result ?? null }),
    (thrown: unknown) => say({ id, error: BulkheadError.from(thrown).code }),
  )
})
say({ id: 0, result: 'ready' })
