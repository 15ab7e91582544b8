import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConfigFile, Outcome } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runsIf } from '../../../scripts/skips.ts'
import { createHost, type Host, type Session } from '../src/index.ts'
import { thoroughly } from '../../../scripts/thoroughly.ts'
import { CACHE } from './cache.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
let host: Host
let session: Session

interface Hostile {
  readonly code: string
  readonly timeoutMs?: number
}

const DEADLINE_MS = 200
const FLOOD_MS = 1_000
const HANGS_MS = 600_000

/** A tool that attacks, and one of the same extension that does not. The names differ between extensions. */
const attack = (execute: string): string => `attack: { ${execute} }, innocent: { execute: () => 'fine' }`
const exporting = (tools: string): string => `export default { tools: { ${tools} } }`

const THROWN = {
  'null': 'null',
  'a string': '"text"',
  'a proxy that throws in every trap':
    'new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 } })',
  'an error with a hostile message': 'Object.defineProperty(new Error(), "message", { get() { throw 1 } })',
}
const RETURNED = {
  'a function': '() => () => 1',
  'a bigint': '() => 1n',
  'a cycle': '() => { const a = {}; a.a = a; return a }',
  'a __proto__ key': `() => JSON.parse('{"__proto__":{"x":1}}')`,
}
const IMPORTS = {
  'import of a builtin': [`import 'node:fs'`, 'BuiltinDenied'],
  'import of a file': [`import '../../../canary.js'`, 'ModuleNotFound'],
} as const
/** The attack corpus of the sandbox has more of them. */
const MEMORY = {
  'the heap': ['CompartmentOutOfHeap', 'const a = []; for (;;) a.push(new Array(1e6).fill(1))'],
  ...thoroughly({}, { 'one huge array': ['CompartmentOutOfHeap', 'return new Array(1e9).fill(1).length'] }),
  buffers: ['CompartmentOutOfMemory', 'const a = []; for (;;) try { a.push(new Uint8Array(5e7).fill(1)) } catch {}'],
} as const
const FLOOD = `for (let i = 0; i < 5000; i++) runtime.progress('x')
  await new Promise((resolve) => setTimeout(resolve))`

/** Ids of extensions from the titles of their cases. */
const idOf = (title: string): string => title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
const each = <T>(cases: Readonly<Record<string, T>>, write: (value: T) => Hostile): Readonly<Record<string, Hostile>> =>
  Object.fromEntries(Object.entries(cases).map(([title, value]) => [idOf(title), write(value)]))

const EVERYWHERE: Readonly<Record<string, Hostile>> = {
  spins: { code: exporting(attack('execute() { for (;;); }')), timeoutMs: DEADLINE_MS },
  waits: { code: exporting(attack('execute: () => new Promise(() => {})')), timeoutMs: DEADLINE_MS },
  exits: {
    code: exporting(
      attack(
        `execute: async () => {
          const p = globalThis.process; p?.reallyExit?.(0); p?.exit?.(0); throw new Error('no exit')
        }`,
      ),
    ),
  },
  overboard: {
    code: exporting(attack(`execute: () => new Promise(() => queueMicrotask(() => { throw new Error('overboard') }))`)),
  },
  unimportable: { code: `throw new Error('not today')` },
  floods: { code: exporting(attack(`async execute(_, runtime) { for (;;) { ${FLOOD} } }`)), timeoutMs: FLOOD_MS },
  twice: {
    code: exporting(
      attack(`execute: () => ({ then(resolve) { resolve('first'); resolve('second'); throw new Error('third') } })`),
    ),
  },
  undeclared: { code: exporting(`${attack('execute: () => 1')}, extra: { execute: () => 2 }`) },
  ...each(IMPORTS, ([statement]) => ({ code: `${statement}\n${exporting(attack('execute: () => 1'))}` })),
  // One extension: it goes on after each of these.
  results: {
    code: exporting(
      attack(`execute: ({ at }) => [
      ${[...Object.values(THROWN).map((thrown) => `() => { throw ${thrown} }`), ...Object.values(RETURNED)].join(', ')}
    ][at]()`),
    ),
  },
}
const IN_PROCESS: Readonly<Record<string, Hostile>> = {
  ...each(MEMORY, ([, body]) => ({ code: exporting(attack(`execute() { ${body} }`)), timeoutMs: HANGS_MS })),
  busy: {
    code: exporting(attack(`async execute(_, runtime) { for (;;) { runtime.progress('x'); await null } }`)),
    timeoutMs: FLOOD_MS,
  },
}

/** Starts a host with these extensions, a neighbour that does its work, and a canary outside every grant. */
async function start(extensions: Readonly<Record<string, Hostile>>, config: ConfigFile = {}): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), 'bulkhead-hostile-'))
  const home = join(folder, 'home')
  writeExtension(
    home, { id: 'neighbour', tools: [{ name: 'ping' }] },
    `export default { tools: { ping: { execute: () => 'pong' } } }`,
  )
  for (const [id, { code, timeoutMs }] of Object.entries(extensions)) {
    const name = (tool: string): string => `${id.replaceAll('-', '_')}_${tool}`
    const limits = timeoutMs === undefined ? {} : { timeoutMs }
    const text = code.replace(' attack:', ` ${name('attack')}:`).replace(' innocent:', ` ${name('innocent')}:`)
    writeExtension(home, { id, tools: [{ name: name('attack'), ...limits }, { name: name('innocent') }] }, text)
  }
  writeFileSync(join(folder, 'canary'), 'untouched')
  host = await createHost({
    workspace: folder, home, cache: CACHE,
    config: { sandbox: { spares: { process: 0, thread: 0 } }, retries: { attempts: 1 }, ...config },
  })
  session = await host.openSession({ mode: 'yolo' })
}

async function end(): Promise<void> {
  await host.close()
  rmSync(folder, { recursive: true })
  expect(children()).toEqual([])
}

const call = (name: string, args: JsonObject = {}): Promise<Outcome> =>
  session.call({ id: crypto.randomUUID(), name, arguments: args })
const callOf = (title: string, tool: 'attack' | 'innocent', args?: JsonObject): Promise<Outcome> =>
  call(`${idOf(title).replaceAll('-', '_')}_${tool}`, args)
const codeOf = (outcome: Outcome) => outcome.type === 'error' ? outcome.error.code : outcome.data

/** After the attack the neighbour works, and the canary is unchanged. */
async function expectUnharmed(): Promise<void> {
  expect(codeOf(await call('ping'))).toBe('pong')
  expect(readFileSync(join(folder, 'canary'), 'utf8')).toBe('untouched')
}
async function expectRestarted(title: string): Promise<void> {
  await expectUnharmed()
  expect(codeOf(await callOf(title, 'innocent'))).toBe('fine')
}

// The tests and the corpus of the sandbox attack from a thread too.
describe.each(thoroughly<readonly ('process' | 'thread')[]>(['process'], ['process', 'thread']))(
  'a hostile extension in a %s',
  (isolation) => {
    beforeAll(() =>
      start(isolation === 'process' ? { ...EVERYWHERE, ...IN_PROCESS } : EVERYWHERE, {
        isolation: { global: isolation },
      }),
    )
    afterAll(end)

    it('that spins is stopped at its deadline, and restarts for the next call', async () => {
      // The deadline covers the first start, and the attack must run.
      await callOf('spins', 'innocent')
      expect(codeOf(await callOf('spins', 'attack'))).toBe('ExecutionTimeout')
      await expectRestarted('spins')
    })

    it('that never settles is stopped at its deadline', async () => {
      await callOf('waits', 'innocent')
      expect(codeOf(await callOf('waits', 'attack'))).toBe('ExecutionTimeout')
      await expectUnharmed()
    })

    it('that exits ends only itself', async () => {
      expect(['CompartmentCrashed', 'ToolExecutionFailed']).toContain(codeOf(await callOf('exits', 'attack')))
      await expectRestarted('exits')
    })

    it('that throws outside its call crashes its compartment only', async () => {
      const outcome = await callOf('overboard', 'attack')
      expect(codeOf(outcome)).toBe('CompartmentCrashed')
      expect(outcome.type === 'error' && outcome.error_text).toContain('overboard')
      await expectRestarted('overboard')
    })

    it('that throws during import does not start', async () => {
      const outcome = await callOf('unimportable', 'attack')
      expect(codeOf(outcome)).toBe('CompartmentStartFailed')
      expect(outcome.type === 'error' && outcome.error_text).toContain('not today')
      await expectUnharmed()
    })

    it('that floods the host with messages is stopped', async () => {
      await callOf('floods', 'innocent')
      expect(['BoundaryViolation', 'ExecutionTimeout']).toContain(codeOf(await callOf('floods', 'attack')))
      await expectUnharmed()
    })

    it('that resolves twice returns its first result', async () => {
      expect(codeOf(await callOf('twice', 'attack'))).toBe('first')
      await expectUnharmed()
    })

    it('that exports undeclared tools is refused', async () => {
      expect(codeOf(await callOf('undeclared', 'attack'))).toBe('ExportsMismatch')
      await expectUnharmed()
    })

    it.each(Object.entries(IMPORTS))('that reaches out through the %s is refused', async (title, [, code]) => {
      expect(codeOf(await callOf(title, 'attack'))).toBe(code)
      await expectUnharmed()
    })

    it.each([
      ...Object.keys(THROWN).map((title, at) => [`throws ${title}`, 'ToolExecutionFailed', at] as const),
      ...Object.keys(RETURNED).map(
        (title, at) => [`returns ${title}`, 'OutputMalformed', Object.keys(THROWN).length + at] as const,
      ),
    ])('that %s fails that call only, with %s', async (_what, code, at) => {
      expect(codeOf(await callOf('results', 'attack', { at }))).toBe(code)
      await expectRestarted('results')
    })

    describe('of its own', runsIf(isolation === 'process', 'is for processes'), () => {
      it.each(Object.entries(MEMORY))('that exhausts %s ends that process only', async (title, [code]) => {
        expect(codeOf(await callOf(title, 'attack'))).toBe(code)
        await expectRestarted(title)
      })

      it('that floods the host from a busy loop ends that process only', async () => {
        await callOf('busy', 'innocent')
        expect(['BoundaryViolation', 'ExecutionTimeout', 'CompartmentOutOfHeap', 'CompartmentOutOfMemory']).toContain(
          codeOf(await callOf('busy', 'attack')),
        )
        await expectUnharmed()
      })
    })
  },
)

it('third-party extensions run in a process by default', async () => {
  await start({ one: { code: exporting(attack('execute: () => 1')) } })
  expect(children()).toEqual([])
  await callOf('one', 'attack')
  expect(children()).not.toEqual([])
  await end()
})

/** The processes of compartments that this process started and that are alive. */
function children(): readonly string[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')
      return (
        stat[1] === String(process.pid)
        && stat[0] !== 'Z'
        && /--permission|launch\.cjs/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))
      )
    } catch {
      return false
    }
  })
}
