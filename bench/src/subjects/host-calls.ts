import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createHost, openSqliteStore, type ConfigFile, type Host, type Store } from 'bulkhead'
import { defineSubject, type Mode, type Runner, type Side } from '../harness/subject.ts'
import { payload, PAYLOAD_BYTES } from '../loads/echo.ts'
import { comlinkThreadOf, mcpStdioOf, rawPostMessageOf } from './baselines.ts'

interface GuardedCall<Name extends string> {
  readonly name: Name
  readonly placement: 'thread' | 'process'
  /** How many tools the project registers, the called one among them. */
  readonly tools: number
  readonly audit: boolean
  /** Default: a file in the folder. */
  readonly open?: (folder: string) => Promise<Store>
  readonly config?: ConfigFile
  /** Of the tool. Default: it returns its arguments. */
  readonly code?: string
  /** Before the first call. */
  readonly prepare?: (host: Host, home: string, cleanup: AsyncDisposableStack) => Promise<void>
}

const inFile = (folder: string): Promise<Store> => openSqliteStore({ file: join(folder, 'store', 'host.db') })

/**
 * A complete call through the facade with all guards: the arguments are validated, the tool is gated and approved for
 * the session, hooks run before and after it, and the journal and the audit are written to a store on disk.
 */
export function guardedCall<const Name extends string>(
  { name, placement, tools, audit, open = inFile, config: more = {}, code, prepare }: GuardedCall<Name>,
) {
  return {
    name,
    answer: payload,
    start: async (): Promise<Runner> => {
      await using opened = new AsyncDisposableStack()
      const workspace = await mkdtemp(join(tmpdir(), 'bulkhead-bench-'))
      opened.defer(() => rm(workspace, { recursive: true, force: true }))
      await layOutTools(join(workspace, '.bulkhead', 'tools'), tools, code)
      const store = await open(workspace)
      const config = { isolation: { project: placement }, audit: { enabled: audit }, ...more }
      const home = join(workspace, 'home')
      const host = await createHost({ workspace, home, trust: 'once', store, config })
      opened.defer(async () => void (await host.close()))
      await prepare?.(host, home, opened)
      let questions = 0
      let hooks = 0
      let calls = 0
      const session = await host.openSession({
        mode: 'ask',
        approver: {
          approve: async () => {
            questions++
            return { decision: 'session' }
          },
        },
        hooks: { beforeToolExecution: () => ++hooks > 0, afterToolExecution: () => void hooks++ },
      })
      const run = async (i: number) => {
        const outcome = await session.call({ id: `c${calls++}`, name: 'echo', arguments: payload(i) })
        if (outcome.type === 'error') throw new Error(`${outcome.error.code}: ${outcome.error_text}`)
        return outcome.data
      }
      await run(0)
      const known = host.tools().filter(({ layer }) => layer === 'project').length
      if (known !== tools || questions !== 1 || hooks !== 2) {
        throw new Error(`The call is not guarded as expected: ${known} tools, ${questions} questions, ${hooks} hooks.`)
      }
      const started = opened.move()
      return { run, stop: () => started.disposeAsync() }
    },
  } as const satisfies Side<Name>
}

/** Tools per extension, all with the same schema. */
const TOOLS_EACH = 100

async function layOutTools(folder: string, count: number, execute = '(args) => args'): Promise<void> {
  const names = ['echo', ...Array.from({ length: count - 1 }, (_, index) => `echo${index}`)]
  for (let first = 0; first < count; first += TOOLS_EACH) {
    const id = `echoes${first}`
    const own = names.slice(first, first + TOOLS_EACH)
    await mkdir(join(folder, id), { recursive: true })
    await writeFile(join(folder, id, 'bulkhead.json'), JSON.stringify(manifestOf(id, own)))
    const code = own.map((tool) => `${tool}: { execute: ${execute} }`).join(', ')
    await writeFile(join(folder, id, 'index.js'), `export default { tools: { ${code} } }\n`)
  }
}

const manifestOf = (id: string, tools: readonly string[]) => ({
  kind: 'Tool', contractVersion: '1.0.0', requiredCoreVersion: '^1.0.0', id, version: '1.0.0', main: './index.js',
  tools: tools.map((name) => ({
    name,
    description: 'Returns the given text.',
    inputSchema: {
      type: 'object', properties: { text: { type: 'string' } }, required: ['text'], additionalProperties: false,
    },
    gated: true,
    mode: 'read',
  })),
})

const MODES: readonly Mode[] = [{ kind: 'latency' }, { kind: 'throughput', concurrency: 64 }]
const GUARDED = { tools: 1, audit: true } as const

export const hostCall = defineSubject({
  title: `Guarded call of a tool that returns ${PAYLOAD_BYTES} bytes`,
  compares: 'A call with validation, cached approval, hooks, journal and audit on disk, against transports without '
    + 'guards. For sequential calls our side busy-polls (decision 107); the others sleep.',
  sides: [
    rawPostMessageOf(payload), comlinkThreadOf(payload), mcpStdioOf(payload),
    guardedCall({ name: 'guarded call in a process', placement: 'process', ...GUARDED }),
    guardedCall({ name: 'guarded call in a thread', placement: 'thread', ...GUARDED }),
  ],
  modes: MODES,
  ratios: [
    { side: 'guarded call in a thread', measure: 'p50', is: '≤', ratio: 1.2, against: 'plain Comlink in a thread' },
    { side: 'guarded call in a process', measure: 'p50', is: '≤', ratio: 0.4, against: 'MCP SDK over stdio' },
    { side: 'guarded call in a process', measure: '64-way', is: '≥', ratio: 2.5, against: 'MCP SDK over stdio' },
    { side: 'guarded call in a process', measure: '64-way', is: '≥', ratio: 1.5, against: 'plain Comlink in a thread' },
  ],
})

const silent = guardedCall({ name: 'guarded call without audit', placement: 'thread', tools: 1, audit: false })
const audited = guardedCall({ name: 'guarded call with audit', placement: 'thread', tools: 1, audit: true })

export const hostAudit = defineSubject({
  title: 'Cost of the audit for a guarded call',
  compares: 'The same call with and without audit records of its decision and its end.',
  sides: [silent, audited],
  modes: MODES,
  ratios: [{ side: audited.name, measure: 'p50', is: '≤', ratio: 1.15, against: silent.name }],
})

const few = guardedCall({ name: 'guarded call among 10 tools', placement: 'thread', tools: 10, audit: true })
const many = guardedCall({ name: 'guarded call among 10,000 tools', placement: 'thread', tools: 10_000, audit: true })

export const hostTools = defineSubject({
  title: 'Guarded call in a host with many tools',
  compares: 'The same call of the same tool with different numbers of registered tools.',
  sides: [few, many],
  modes: MODES,
  ratios: [
    { side: many.name, measure: 'p50', against: few.name },
    { side: many.name, measure: '64-way', against: few.name },
  ],
})
