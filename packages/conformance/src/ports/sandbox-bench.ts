import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  compileGrant, DEFAULT_LIMITS, type CompartmentCode, type CompartmentLimits, type CompartmentRequest,
  type CompartmentServices, type CompartmentSession, type ExtensionModule, type LogEntry, type Placement,
  type RequirementSet, type Sandbox, type ToolInvocation,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { settle, type Bench, type Settled } from './verify.ts'

export interface SandboxTarget {
  /** A new sandbox. Relative paths of tools refer to the workspace. */
  readonly create: (place: { readonly workspace: string }) => Sandbox | Promise<Sandbox>
  /** Default: process. Inline code is trusted, so that it can be confined, killed and crash is not verified. */
  readonly placement?: Placement
}

/** An extension as source, and what it is given. */
export interface ExampleCompartment {
  readonly source: string
  /** The requirements of each tool. */
  readonly tools: Readonly<Record<string, RequirementSet>>
  readonly env?: readonly string[]
  readonly config?: JsonObject
  readonly limits?: Partial<CompartmentLimits>
  readonly services?: Partial<CompartmentServices>
  readonly signal?: AbortSignal
}

export interface OpenedExample {
  readonly session: CompartmentSession
  readonly log: readonly LogEntry[]
  /** Calls a tool and waits for the end. Never rejects. */
  call(tool: string, args?: JsonObject, more?: Partial<ToolInvocation>): Promise<Settled<Json>>
}

export interface SandboxBench extends Bench {
  readonly workspace: string
  readonly sandbox: Sandbox
  open(example: ExampleCompartment): Promise<OpenedExample>
  /** How opening ends. Closes what was opened. */
  tryOpen(example: ExampleCompartment): Promise<Settled<string>>
}

let count = 0

/** Runs an experiment in a new sandbox, and closes it. */
export async function withSandbox<Facts>(
  { create, placement = 'process' }: SandboxTarget, bench: Bench, work: (bench: SandboxBench) => Promise<Facts>,
): Promise<Facts> {
  const workspace = join(bench.folder, 'work')
  await mkdir(workspace)
  const sandbox = await create({ workspace })
  const open = async (example: ExampleCompartment): Promise<OpenedExample> => {
    const log: LogEntry[] = []
    const request = await requestOf(example, { placement, workspace, log: (entry) => void log.push(entry) })
    const session = await sandbox.open(request)
    const call: OpenedExample['call'] = (tool, args = {}, more = {}) => settle(() => session.call({
      callId: `verify-${++count}`, tool, args, signal: new AbortController().signal, ...more,
    }), bench)
    return { session, log, call }
  }
  const tryOpen = (example: ExampleCompartment): Promise<Settled<string>> => settle(async () => {
    const { session } = await open(example)
    await session.close()
    return 'a compartment'
  }, bench)
  try {
    return await work({ ...bench, workspace, sandbox, open, tryOpen })
  } finally {
    await settle(() => sandbox.close(), bench)
  }
}

interface Surroundings {
  readonly placement: Placement
  readonly workspace: string
  readonly log: (entry: LogEntry) => void
}

async function codeOf(source: string, placement: Placement): Promise<CompartmentCode> {
  if (placement !== 'inline') {
    return { kind: 'files', main: './index.js', files: new Map([['index.js', Buffer.from(source)]]) }
  }
  const { default: module } = await import(`data:text/javascript,${encodeURIComponent(source)}#${++count}`) as
    { readonly default: ExtensionModule }
  return { kind: 'module', module }
}

async function requestOf(
  example: ExampleCompartment, { placement, workspace, log }: Surroundings,
): Promise<CompartmentRequest> {
  const { source, tools, env = [], config = {}, limits, services, signal } = example
  return {
    extension: { id: 'example', version: '1.0.0', layer: 'global' }, placement, config,
    code: await codeOf(source, placement),
    tools: Object.entries(tools).map(([name, requires]) => ({
      name, inputSchema: { type: 'object' }, requires: requires as JsonObject,
      grant: compileGrant(requires, { workspace: [workspace] }, { env }),
    })),
    limits: { ...DEFAULT_LIMITS, ...limits },
    services: { log, env: new Map(), envDeclared: new Set(env), ...services },
    ...(signal && { signal }),
  }
}
