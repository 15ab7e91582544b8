import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { PROGRAM_TOOL } from '@bulkhead/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { CancelledCall, CancelPlace } from '../../tools-bundled/test/cancelled-call.ts'
import { readTools } from '../../tools-bundled/scripts/generated-files.ts'
import { createHost, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
let host: Host
let session: Session
let place: CancelPlace
/** None is answered. */
let begun = { questions: 0, tasks: 0, requests: 0 }
const server = createServer(() => void begun.requests++)
const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason as Error)) })

beforeAll(async () => {
  earlier = new Set(pids())
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-cancel-'))
  mkdirSync(join(folder, 'ws'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  place = { workspace: join(folder, 'ws'), server: address, get begun() { return begun }, children }
  writeFileSync(join(folder, 'ws/sparse'), 'text '.repeat(3_000))
  truncateSync(join(folder, 'ws/sparse'), 256 * 1024 ** 3)
  host = await createHost({
    workspace: join(folder, 'ws'), home: join(folder, 'home'), cache: CACHE, trust: 'declined', fetchHosts: [address],
    config: { search: { providers: [{ type: 'searxng', url: `http://${address}` }] } },
    runAgent: (_, signal) => {
      begun.tasks++
      return never(signal)
    },
  })
  const interact = (_: unknown, signal: AbortSignal): Promise<never> => {
    begun.questions++
    return never(signal)
  }
  session = await host.openSession({ mode: 'yolo', interactor: { interact } })
})
afterAll(async () => {
  await host.close()
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true })
})

/** Identifies the shell that cleans up after a killed host. */
const SWEEPER = 'while IFS= read -r line'

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
const pids = (): readonly string[] =>
  readdirSync('/proc/self/task').flatMap((task) => read(`/proc/self/task/${task}/children`).split(' '))
/** Other test files of this process left them: a server of PostgreSQL, for example. */
let earlier: ReadonlySet<string> = new Set()

/** Names of child processes, except the shell that cleans up after a killed host. Any may end meanwhile. */
function children(): readonly string[] {
  return pids()
    .flatMap((pid) =>
      pid === '' || earlier.has(pid) || read(`/proc/${pid}/cmdline`).includes(SWEEPER) ? []
        : read(`/proc/${pid}/comm`).trim(),
    )
    .filter((name) => name !== '')
}
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await delay(1)
}

/** A call of each tool, or where its calls are cancelled. */
interface Cancelled {
  readonly cancelled: CancelledCall | string
}
const TOOLS = await readTools(join(import.meta.dirname, '../../..'))
const ALL = await Promise.all(TOOLS.map(async ({ name, folder: tool }) => {
  const { cancelled } = await import(`../../tools-bundled/src/${tool}/test/cancelled.ts`) as Cancelled
  return [name, cancelled] as const
}))
const CALLS = ALL.flatMap(([name, call]) => typeof call === 'string' ? [] : [[name, call] as const])

it('every tool has a call here, or says where its calls are cancelled', () => {
  expect(TOOLS.map(({ name }) => name).filter((name) => name !== PROGRAM_TOOL).toSorted())
    .toEqual(host.tools().map(({ name }) => name).toSorted())
  for (const [, elsewhere] of ALL) if (typeof elsewhere === 'string') expect(elsewhere).toMatch(/ cancels /)
})

it.each(CALLS)('%s ends when it is cancelled, and leaves nothing running', async (name, { args, reached, holds }) => {
  begun = { questions: 0, tasks: 0, requests: 0 }
  writeFileSync(join(place.workspace, 'f.txt'), 'before')
  const cancel = new AbortController()
  const calling = session.call({ id: crypto.randomUUID(), name, arguments: args(place) }, { signal: cancel.signal })
  await until(() => reached?.(place) !== false)
  cancel.abort()
  expect(await calling).toMatchObject({
    type: 'error', error: { class: 'Cancellation' }, completion: { terminal: true },
  })
  await until(() => children().length === 0)
  expect(holds?.(place)).not.toBe(false)
  // The tool still works.
  const next = await session.call({ id: `${name} again`, name: 'read', arguments: { path: 'f.txt', limit: 1 } })
  expect(next.type).toBe('output')
})
