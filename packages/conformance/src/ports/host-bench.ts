import { access, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type {
  Approver, AuditEntry, BulkheadEvent, Ceiling, ErrorCode, EventListener, Outcome, Rule, RuleAction, SecurityMode,
  ToolListing,
} from '@bulkhead/contract'
import { filesOf, manifestOf, toolOf, writePackage } from './example-packages.ts'
import { settle, type Bench, type Settled } from './verify.ts'

/** The parts of a host that are verified. A host of another form needs an adapter with these members. */
export interface VerifiedHost {
  tools(): readonly Pick<ToolListing, 'name' | 'gated' | 'layer' | 'extension' | 'version'>[]
  openSession(options: VerifiedSessionOptions): Promise<VerifiedSession>
  /** Calls the listener for every event, until the returned function is called. */
  on(listener: EventListener): () => void
  /** All records of the audit so far, in order. */
  audit(): Promise<readonly Pick<AuditEntry, 'record'>[]>
  close(): Promise<unknown>
}

export interface VerifiedSessionOptions {
  readonly mode?: SecurityMode
  readonly rules?: readonly Rule[]
  readonly approver?: Approver
  readonly ceiling?: Ceiling
  readonly budget?: { readonly calls?: number }
}

export interface VerifiedCall {
  readonly id: string
  readonly name: string
  readonly arguments: unknown
}

export interface VerifiedSession {
  call(call: VerifiedCall, options?: { readonly signal?: AbortSignal; readonly timeoutMs?: number }): Promise<Outcome>
  explain(call: VerifiedCall): Promise<{ readonly decision: RuleAction; readonly code?: ErrorCode }>
  close(): Promise<void>
}

export interface HostPlace {
  /** The canonical path of the folder that tools work on. */
  readonly workspace: string
  /** The folder of the global layer, with the example package in `tools`. A store can be here too. */
  readonly home: string
}

export interface HostTarget {
  /** A new host that has loaded the package in `home`. */
  readonly create: (place: HostPlace) => Promise<VerifiedHost>
}

const SOURCE = `
const phase = (name) => ({ log }) => { log.info(name) }
export default {
  init: phase('init'), activate: phase('activate'), deactivate: phase('deactivate'), dispose: phase('dispose'),
  tools: {
    verify_echo: { execute: ({ text }, runtime) => { runtime.progress('echo'); return { text } } },
    verify_fail: { execute() { throw new Error('broken on purpose') } },
    verify_wait: { execute: ({ text }, runtime) => new Promise((resolve) => {
      runtime.signal.addEventListener('abort', resolve)
      runtime.progress('waiting')
    }) },
    verify_crash: { execute: () => new Promise(() => setTimeout(() => { throw new Error('broken on purpose') })) },
    verify_write: { execute: ({ name }, runtime) => runtime.fs.write('out/' + name + '.txt', 'written') },
  },
}
`

const input = (name: string): ReturnType<typeof toolOf>['inputSchema'] => ({
  type: 'object', properties: { [name]: { type: 'string', minLength: 1 } }, required: [name],
  additionalProperties: false,
})
const free = { inputSchema: input('text'), gated: false } as const

export const EXTENSION = 'verify-host'
const MANIFEST = manifestOf(EXTENSION, {
  tools: [
    toolOf('verify_echo', { ...free, mode: 'read' }),
    // Not `read`: a host may repeat a read.
    toolOf('verify_fail', { ...free, mode: 'safe_write', effects: 'once' }),
    toolOf('verify_wait', { ...free, mode: 'safe_write' }),
    toolOf('verify_crash', { ...free, mode: 'safe_write' }),
    toolOf('verify_write', {
      inputSchema: input('name'), approvalKey: '{name}', mode: 'safe_write',
      requires: { fs: { write: ['{workspace}/out/**'] } },
    }),
  ],
})
export const TOOL_NAMES = MANIFEST.tools.map(({ name }) => name)

export interface HostBench extends Bench {
  readonly host: VerifiedHost
  readonly events: readonly BulkheadEvent[]
  /** Whether `verify_write` has run with this name. */
  hasRun(name: string): Promise<boolean>
  /** Calls a tool of a session and waits for the end. Never rejects. */
  call(session: VerifiedSession, name: string, args: unknown, options?: CallSetting): Promise<Settled<Outcome>>
}

export interface CallSetting {
  readonly id?: string
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

let count = 0

/** Runs an experiment on a new host, and closes it. */
export async function withHost<Facts>(
  { create }: HostTarget, bench: Bench, work: (bench: HostBench) => Promise<Facts>,
): Promise<Facts> {
  const home = join(bench.folder, 'home')
  const workspace = join(bench.folder, 'work')
  await mkdir(join(workspace, 'out'), { recursive: true })
  await writePackage(home, EXTENSION, filesOf(MANIFEST, { 'index.js': SOURCE }))
  const host = await create({ workspace, home })
  const events: BulkheadEvent[] = []
  const stop = host.on((event) => void events.push(event))
  const hasRun = (name: string): Promise<boolean> =>
    access(join(workspace, 'out', `${name}.txt`)).then(() => true, () => false)
  const call: HostBench['call'] = (session, name, args, { id = `verify-${++count}`, ...options } = {}) =>
    settle(() => session.call({ id, name, arguments: args }, options), bench)
  try {
    return await work({ ...bench, host, events, hasRun, call })
  } finally {
    await settle(() => host.close(), bench)
    stop()
  }
}

/** Evidence if a call did not end with output. */
export const unlessOutput = (settled: Settled<Outcome>): string | undefined =>
  settled.value?.type === 'output' ? undefined : endOf(settled)

/** Evidence if a call did not end with this code. */
export const unlessCode = (settled: Settled<Outcome>, code: ErrorCode): string | undefined =>
  settled.value?.type === 'error' && settled.value.error.code === code ? undefined : endOf(settled)

function endOf({ times, error, value }: Settled<Outcome>): string {
  if (times === 0) return 'the call never ended'
  if (error) return `the call rejected with ${error.code}: ${error.message}`
  return `the call ended with ${value?.type === 'error' ? `${value.error.code}: ${value.error_text}` : 'output'}`
}
