import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Outcome } from '@bulkhead/contract'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createHost, type Host, type Session } from '../src/index.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
let host: Host
let session: Session

beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-hostile-')) })
afterEach(async () => {
  await host.close()
  rmSync(folder, { recursive: true })
  expect(children()).toEqual([])
})

/** A neighbour that does its work, a hostile extension with the tool `attack`, and a canary outside every grant. */
async function start(code: string, options: { readonly isolation?: 'thread' | 'process'; readonly timeoutMs?: number } = {}): Promise<void> {
  const home = join(folder, 'home')
  const attack = { name: 'attack', ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }) }
  writeExtension(home, { id: 'neighbour', tools: [{ name: 'ping' }] }, `export default { tools: { ping: { execute: () => 'pong' } } }`)
  writeExtension(home, { id: 'hostile', tools: [attack, { name: 'innocent' }] }, code)
  writeFileSync(join(folder, 'canary'), 'untouched')
  host = await createHost({ workspace: folder, home, ...(options.isolation ? { config: { isolation: { global: options.isolation } } } : {}) })
  session = await host.openSession({ mode: 'yolo' })
}

const call = (name: string): Promise<Outcome> => session.call({ id: crypto.randomUUID(), name, arguments: {} })
const codeOf = (outcome: Outcome) => outcome.type === 'error' ? outcome.error.code : outcome.data

/** After the attack everybody else goes on, and the canary is as it was. */
async function expectUnharmed(): Promise<void> {
  expect(codeOf(await call('ping'))).toBe('pong')
  expect(readFileSync(join(folder, 'canary'), 'utf8')).toBe('untouched')
}

const extension = (attack: string) => `export default { tools: { attack: { ${attack} }, innocent: { execute: () => 'fine' } } }`

describe.each(['process', 'thread'] as const)('a hostile extension in a %s', (isolation) => {
  it('that spins is stopped at its deadline, and restarts for the next call', async () => {
    await start(extension('execute() { for (;;); }'), { isolation, timeoutMs: 200 })
    // The deadline covers the first start, and the attack must run.
    await call('innocent')
    expect(codeOf(await call('attack'))).toBe('ExecutionTimeout')
    await expectUnharmed()
    expect(codeOf(await call('innocent'))).toBe('fine')
  })

  it('that never settles is stopped at its deadline', async () => {
    await start(extension('execute: () => new Promise(() => {})'), { isolation, timeoutMs: 200 })
    await call('innocent')
    expect(codeOf(await call('attack'))).toBe('ExecutionTimeout')
    await expectUnharmed()
  })

  it('that exits ends only itself', async () => {
    await start(extension(`execute: async () => { const p = globalThis.process; p?.reallyExit?.(0); p?.exit?.(0); throw new Error('no exit') }`), { isolation })
    expect(['CompartmentCrashed', 'ToolExecutionFailed']).toContain(codeOf(await call('attack')))
    await expectUnharmed()
    expect(codeOf(await call('innocent'))).toBe('fine')
  })

  it('that throws outside its call crashes its compartment only', async () => {
    await start(extension(`execute: () => new Promise(() => queueMicrotask(() => { throw new Error('overboard') }))`), { isolation })
    const outcome = await call('attack')
    expect(codeOf(outcome)).toBe('CompartmentCrashed')
    expect(outcome.type === 'error' && outcome.error_text).toContain('overboard')
    await expectUnharmed()
    expect(codeOf(await call('innocent'))).toBe('fine')
  })

  it('that throws during import does not start', async () => {
    await start(`throw new Error('not today')`, { isolation })
    const outcome = await call('attack')
    expect(codeOf(outcome)).toBe('CompartmentStartFailed')
    expect(outcome.type === 'error' && outcome.error_text).toContain('not today')
    await expectUnharmed()
  })

  it('that floods the host with messages is stopped', async () => {
    const flood = `for (let i = 0; i < 5000; i++) runtime.progress('x'); await new Promise((resolve) => setTimeout(resolve))`
    await start(extension(`async execute(_, runtime) { for (;;) { ${flood} } }`), { isolation, timeoutMs: 1000 })
    await call('innocent')
    expect(['BoundaryViolation', 'ExecutionTimeout']).toContain(codeOf(await call('attack')))
    await expectUnharmed()
  })

  it('that resolves twice returns its first result', async () => {
    await start(extension(`execute: () => ({ then(resolve) { resolve('first'); resolve('second'); throw new Error('third') } })`), { isolation })
    expect(codeOf(await call('attack'))).toBe('first')
    await expectUnharmed()
  })

  it('that exports undeclared tools is refused', async () => {
    await start(`export default { tools: { attack: { execute: () => 1 }, extra: { execute: () => 2 } } }`, { isolation })
    expect(codeOf(await call('attack'))).toBe('ExportsMismatch')
    await expectUnharmed()
  })

  it.each([
    ['import of a builtin', `import 'node:fs'\n${extension('execute: () => 1')}`, 'BuiltinDenied'],
    ['import of a file', `import '../../../canary.js'\n${extension('execute: () => 1')}`, 'ModuleNotFound'],
  ])('that reaches out through the %s is refused', async (_, code, expected) => {
    await start(code, { isolation })
    expect(codeOf(await call('attack'))).toBe(expected)
    await expectUnharmed()
  })

  it.each([
    ['null', 'null'],
    ['a string', '"text"'],
    ['a proxy that throws in every trap', 'new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 } })'],
    ['an error with a hostile message', 'Object.defineProperty(new Error(), "message", { get() { throw 1 } })'],
  ])('that throws %s fails that call only', async (_, thrown) => {
    await start(extension(`execute() { throw ${thrown} }`), { isolation })
    expect(codeOf(await call('attack'))).toBe('ToolExecutionFailed')
    await expectUnharmed()
    expect(codeOf(await call('innocent'))).toBe('fine')
  })

  it.each([
    ['a function', '() => () => 1'],
    ['a bigint', '() => 1n'],
    ['a cycle', '() => { const a = {}; a.a = a; return a }'],
    ['a __proto__ key', `() => JSON.parse('{"__proto__":{"x":1}}')`],
  ])('that returns %s fails with OutputMalformed', async (_, execute) => {
    await start(extension(`execute: ${execute}`), { isolation })
    expect(codeOf(await call('attack'))).toBe('OutputMalformed')
    await expectUnharmed()
    expect(codeOf(await call('innocent'))).toBe('fine')
  })
})

describe('in a process', () => {
  it.each([
    ['the heap', 'CompartmentOutOfHeap', 'const a = []; for (;;) a.push(new Array(1e6).fill(1))'],
    ['one huge array', 'CompartmentOutOfHeap', 'return new Array(1e9).fill(1).length'],
    ['buffers', 'CompartmentOutOfMemory', 'const a = []; for (;;) try { a.push(new Uint8Array(5e7).fill(1)) } catch {}'],
  ])('a tool that exhausts %s ends its own process only', async (_, code, body) => {
    await start(extension(`execute() { ${body} }`), { timeoutMs: 600_000 })
    expect(codeOf(await call('attack'))).toBe(code)
    await expectUnharmed()
    expect(codeOf(await call('innocent'))).toBe('fine')
  })

  it('a flood of messages from a busy loop ends the compartment only', async () => {
    await start(extension(`async execute(_, runtime) { for (;;) { runtime.progress('x'); await null } }`), { timeoutMs: 1000 })
    await call('innocent')
    expect(['BoundaryViolation', 'ExecutionTimeout', 'CompartmentOutOfHeap', 'CompartmentOutOfMemory']).toContain(codeOf(await call('attack')))
    await expectUnharmed()
  })

  it('third-party extensions run in a process by default', async () => {
    await start(extension('execute: () => 1'))
    expect(children()).toEqual([])
    await call('attack')
    expect(children()).not.toEqual([])
  })
})

/** The hulls of this process that are alive. */
function children(): readonly string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')
      return stat[1] === String(process.pid) && stat[0] !== 'Z' && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--permission')
    } catch {
      return false
    }
  })
}
