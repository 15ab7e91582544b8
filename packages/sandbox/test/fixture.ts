import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type {
  CompartmentLimits, CompartmentRequest, CompartmentServices, CompartmentTool, ExtensionModule, LogEntry, Placement,
  ToolInvocation,
} from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { BulkheadError, compileGrant, DEFAULT_LIMITS } from '@bulkhead/contract'
import { requirementSet } from '@bulkhead/contract/validation'
import { onTestFinished } from 'vitest'
import { createSandbox, type PooledSandbox } from '../src/index.ts'

export const REMOTE = ['process', 'thread'] as const satisfies readonly Placement[]

export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'sandbox-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Without spares by default: each would start a process that most tests end unused. */
export function newSandbox(workspace = '/', spares = 0): PooledSandbox {
  const sandbox = createSandbox({ workspace, spares: { process: spares, thread: spares } })
  onTestFinished(() => sandbox.close())
  return sandbox
}

export function toolOf(name: string, requires: JsonObject = {}, workspace = '/'): CompartmentTool {
  return {
    name,
    requires,
    inputSchema: { type: 'object' },
    grant: compileGrant(requirementSet.parse(requires), { workspace: [workspace] }),
  }
}

export interface RequestOptions {
  readonly placement: Placement
  /** The main file, or all files by path; then `index.js` is the main file. */
  readonly source: string | Readonly<Record<string, string | Uint8Array>>
  readonly tools?: readonly CompartmentTool[]
  readonly limits?: Partial<CompartmentLimits>
  readonly services?: Partial<CompartmentServices>
  readonly config?: JsonObject
  readonly id?: string
  readonly signal?: AbortSignal
}

export function requestOf(
  { placement, source, tools, limits, services, config, id, signal }: RequestOptions,
): CompartmentRequest & { readonly logged: LogEntry[] } {
  const logged: LogEntry[] = []
  const files = typeof source === 'string' ? { 'index.js': source } : source
  return {
    extension: { id: id ?? 'example', version: '1.0.0', layer: 'global' },
    placement,
    code: {
      kind: 'files',
      main: './index.js',
      files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text as string)])),
    },
    tools: tools ?? [toolOf('run')],
    config: config ?? {},
    limits: { ...DEFAULT_LIMITS, ...limits },
    services: { log: (entry) => void logged.push(entry), env: new Map(), envDeclared: new Set(), ...services },
    ...(signal && { signal }),
    logged,
  }
}

/** The same source in every placement. Inline gets it as a module, like a built-in extension. */
export async function requestIn(options: RequestOptions): Promise<ReturnType<typeof requestOf>> {
  const request = requestOf(options)
  if (options.placement !== 'inline' || typeof options.source !== 'string') return request
  const url = `data:text/javascript,${encodeURIComponent(options.source)}#${Math.random()}`
  const { default: module } = await import(url) as { default: ExtensionModule }
  return { ...request, code: { kind: 'module', module } }
}

let calls = 0

export function invocation(args: JsonObject = {}, more: Partial<ToolInvocation> = {}): ToolInvocation {
  return { callId: `call-${++calls}`, tool: 'run', args, signal: new AbortController().signal, ...more }
}

/** An extension with one tool `run` of this body; `args` and `runtime` are in scope. */
export const running = (body: string): string =>
  `export default { tools: { run: { async execute(args, runtime) { ${body} } } } }`

/** The BulkheadError that the promise rejects with. Throws when it resolves, or rejects with another error. */
export async function refusal(promise: Promise<unknown>): Promise<BulkheadError> {
  const outcome: { readonly value: unknown } | { readonly error: unknown } = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('value' in outcome) throw new Error(`not refused: ${JSON.stringify(outcome.value)}`)
  if (!BulkheadError.is(outcome.error)) throw outcome.error
  return outcome.error
}

export const codeOf = async (promise: Promise<unknown>): Promise<string> => (await refusal(promise)).code
