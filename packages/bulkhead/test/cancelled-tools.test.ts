import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createHost, type Host, type Session } from '../src/index.ts'
import { CACHE } from './cache.ts'

let folder: string
let host: Host
let session: Session
let place: string
/** How many questions, tasks and requests came. None is answered. */
let [questions, tasks, requests] = [0, 0, 0]
const server = createServer(() => void requests++)
const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => { signal.addEventListener('abort', () => reject(signal.reason as Error)) })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-cancel-'))
  mkdirSync(join(folder, 'ws'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  place = `127.0.0.1:${(server.address() as AddressInfo).port}`
  writeFileSync(join(folder, 'ws/sparse'), 'text '.repeat(3_000))
  truncateSync(join(folder, 'ws/sparse'), 256 * 1024 ** 3)
  writeFileSync(join(folder, 'ws/f.txt'), 'before')
  host = await createHost({
    workspace: join(folder, 'ws'), home: join(folder, 'home'), cache: CACHE, trust: 'declined', fetchHosts: [place],
    config: { search: { providers: [{ type: 'searxng', url: `http://${place}` }] } },
    runAgent: (_, signal) => {
      tasks++
      return never(signal)
    },
  })
  const interact = (_: unknown, signal: AbortSignal): Promise<never> => {
    questions++
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

/** Names of child processes, except the shell that cleans up after a killed host. Any may end meanwhile. */
function children(): readonly string[] {
  const read = (file: string): string => {
    try {
      return readFileSync(file, 'utf8')
    } catch {
      return ''
    }
  }
  return readdirSync('/proc/self/task').flatMap((task) => read(`/proc/self/task/${task}/children`).split(' '))
    .flatMap((pid) => pid === '' || read(`/proc/${pid}/cmdline`).includes(SWEEPER) ? [] : read(`/proc/${pid}/comm`).trim()).filter((name) => name !== '')
}
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await nextTurn()
}
const fileText = (): string => readFileSync(join(folder, 'ws/f.txt'), 'utf8')

/** A call of each tool, how to detect that it runs, and what must hold after the cancellation. */
const CALLS: Readonly<Record<string, { readonly args: () => object; readonly reached?: () => boolean; readonly holds?: () => boolean }>> = {
  read: { args: () => ({ path: 'sparse', offset: 2 }) },
  grep: { args: () => ({ pattern: 'needle', path: 'sparse' }), reached: () => children().includes('rg') },
  glob: { args: () => ({ pattern: '**' }) },
  bash: { args: () => ({ command: 'sleep 1000' }), reached: () => children().length > 0 },
  write: { args: () => ({ path: 'f.txt', content: 'x'.repeat(200_000) }), holds: () => fileText() === 'before' || fileText().length === 200_000 },
  edit: { args: () => ({ path: 'f.txt', old_string: fileText().slice(0, 6), new_string: 'after!' }), holds: () => ['before', 'after!', 'xxxxxx'].includes(fileText().slice(0, 6)) },
  question: { args: () => ({ questions: [{ question: 'Which?' }] }), reached: () => questions === 1 },
  task: { args: () => ({ subagent_type: 'explore', prompt: 'look' }), reached: () => tasks === 1 },
  web_fetch: { args: () => ({ url: `http://${place}/page` }), reached: () => requests === 1 },
  web_search: { args: () => ({ query: 'anything' }), reached: () => requests === 2 },
  http_request: { args: () => ({ url: `http://${place}/api`, method: 'POST' }), reached: () => requests === 3 },
  lsp: { args: () => ({ action: 'symbols', path: 'f.txt' }) },
  plan: { args: () => ({ steps: [{ step: 'look' }] }) },
  plan_exit: { args: () => ({}) },
  pdf_read: { args: () => ({ path: 'f.pdf' }) },
  git: { args: () => ({ action: 'status' }) },
  list: { args: () => ({ depth: 3 }) },
  repo_overview: { args: () => ({}) },
  apply_patch: { args: () => ({ patch: '*** Begin Patch\n*** Add File: patched.txt\n+x\n*** End Patch' }) },
  repo_clone: { args: () => ({ url: `http://${place}/x.git`, path: 'cloned' }), reached: () => requests === 4, holds: () => !existsSync(join(folder, 'ws/cloned')) },
  test_runner: { args: () => ({ runner: 'node' }) },
  todo: { args: () => ({ todos: [] }) },
  skill: { args: () => ({ name: 'none' }) },
  tool_search: { args: () => ({ query: 'file' }) },
  undo: { args: () => ({ session: true, force: true }) },
}

/** Its processes are those of the sandbox, which keeps a spare one. code-mode.test.ts cancels its programs. */
const ELSEWHERE = 'code_exec'

it('the list contains every bundled tool', () => {
  expect([...Object.keys(CALLS), ELSEWHERE].toSorted()).toEqual(host.tools().map(({ name }) => name).toSorted())
})

it.each(Object.keys(CALLS))('%s ends when it is cancelled, and leaves nothing running', async (name) => {
  const { args, reached = () => true, holds = () => true } = CALLS[name]!
  const cancel = new AbortController()
  const calling = session.call({ id: crypto.randomUUID(), name, arguments: args() }, { signal: cancel.signal })
  await until(reached)
  cancel.abort()
  expect(await calling).toMatchObject({ type: 'error', error: { class: 'Cancellation' }, completion: { terminal: true } })
  await until(() => children().length === 0)
  expect(holds()).toBe(true)
  // The tool still works.
  const next = await session.call({ id: `${name} again`, name: 'read', arguments: { path: 'f.txt', limit: 1 } })
  expect(next.type).toBe('output')
})
