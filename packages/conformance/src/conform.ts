import {
  BulkheadError, DEFAULT_LIMITS, LIFECYCLE_PHASES, NO_GRANT, requireOptions, type CompartmentSession,
  type ExtensionDescriptor, type Sandbox,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { JsonObject } from '@bulkhead/kit/json'
import { forms, type OptionForms } from '@bulkhead/kit/options'

/** The requirements for every extension, by the id of the check that proves each. */
export const REQUIREMENTS = {
  'exports': 'The code exports exactly what the manifest declares.',
  'lifecycle-order': 'init, activate, deactivate and dispose succeed in this order, each within its deadline.',
  'dispose-idempotent': 'A second dispose does nothing and does not fail.',
  'worst-arguments': 'Hostile but valid arguments give a result or an error, and the compartment keeps running.',
  'abort': 'Cancelling a call does not end its compartment.',
} as const satisfies Record<string, string>

export type RequirementId = keyof typeof REQUIREMENTS

export interface ConformanceResult {
  readonly requirement: RequirementId
  readonly ok: boolean
  /** What went wrong. Absent if `ok` is true. */
  readonly detail?: string
}

export interface ConformanceTarget {
  readonly extension: ExtensionDescriptor
  readonly sandbox: Sandbox
  /** Configuration to start it with. It must satisfy the configSchema. */
  readonly config?: JsonObject
}

const TARGET: OptionForms<ConformanceTarget> = {
  extension: forms.whole({
    id: forms.text, manifest: forms.whole({ tools: forms.list(forms.object) }), code: forms.object,
  }),
  sandbox: forms.having('open'), config: forms.object,
}

const ANSWER_MS = 5_000

type Check = (open: () => Promise<CompartmentSession>, extension: ExtensionDescriptor) => Promise<void>

const CHECKS: Readonly<Record<RequirementId, Check>> = {
  'exports': async (open) => {
    await open()
  },
  'lifecycle-order': async (open) => {
    const session = await open()
    for (const phase of LIFECYCLE_PHASES) await session.lifecycle(phase)
  },
  'dispose-idempotent': async (open) => {
    const session = await open()
    await session.lifecycle('init')
    await session.lifecycle('dispose')
    await session.lifecycle('dispose')
  },
  'worst-arguments': async (open, extension) => {
    const session = await started(open)
    for (const tool of extension.manifest.tools) {
      for (const [index, args] of worstArguments().entries()) {
        const [callId, signal] = [`worst-${tool.name}-${index}`, AbortSignal.timeout(ANSWER_MS)]
        await answered(session.call({ callId, tool: tool.name, args, signal }))
      }
    }
  },
  'abort': async (open, extension) => {
    const session = await started(open)
    for (const tool of extension.manifest.tools) {
      const cancel = new AbortController()
      const call = session.call({ callId: `abort-${tool.name}`, tool: tool.name, args: {}, signal: cancel.signal })
      cancel.abort(new BulkheadError('ToolCancelled', 'Cancelled by the conformance suite.'))
      await answered(call)
      // A tool that ignores the cancellation is killed with its compartment. Then this call fails.
      const signal = AbortSignal.timeout(ANSWER_MS)
      await answered(session.call({ callId: `after-${tool.name}`, tool: tool.name, args: {}, signal }))
    }
  },
}

/**
 * Runs every check in its own compartment, without any power. Contract: does not throw for anything the extension does,
 * and leaves no compartment behind. Rejects with ConfigInvalid for an invalid target.
 */
export async function conform(target: ConformanceTarget): Promise<readonly ConformanceResult[]> {
  requireOptions('conform', target, TARGET, 'extension', 'sandbox')
  const results: ConformanceResult[] = []
  for (const requirement of Object.keys(REQUIREMENTS) as RequirementId[]) {
    results.push(await prove(requirement, target))
  }
  return results
}

async function prove(requirement: RequirementId, target: ConformanceTarget): Promise<ConformanceResult> {
  const opened: CompartmentSession[] = []
  const open = async () => {
    const session = await openCompartment(target)
    opened.push(session)
    return session
  }
  try {
    await CHECKS[requirement](open, target.extension)
    return { requirement, ok: true }
  } catch (error) {
    const detail = BulkheadError.is(error) ? `${error.code}: ${error.message}` : messageOf(error)
    return { requirement, ok: false, detail }
  } finally {
    await Promise.all(opened.map((session) => session.close()))
  }
}

async function openCompartment({ extension, sandbox, config = {} }: ConformanceTarget): Promise<CompartmentSession> {
  const { id, version, layer, code, manifest } = extension
  return sandbox.open({
    extension: { id, version, layer },
    placement: code.kind === 'module' ? 'inline' : 'process',
    code: code.kind === 'module' ? code : { kind: 'files', main: manifest.main, files: await code.readFiles() },
    tools: manifest.tools.map(({ name, inputSchema, requires }) =>
      ({ name, grant: NO_GRANT, inputSchema, requires: requires as JsonObject })),
    config,
    limits: DEFAULT_LIMITS,
    services: { log: () => {}, env: new Map(), envDeclared: new Set(manifest.env) },
  })
}

async function started(open: () => Promise<CompartmentSession>): Promise<CompartmentSession> {
  const session = await open()
  await session.lifecycle('init')
  await session.lifecycle('activate')
  return session
}

/** An error counts as a result, unless it ends the compartment. */
async function answered(call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (BulkheadError.is(error) && error.class === 'ExtensionHost') throw error
  }
}

/** Valid JSON objects that break careless code. A model may send any of them. */
export function worstArguments(): readonly JsonObject[] {
  return [
    {},
    { constructor: { prototype: { polluted: true } }, toString: null, hasOwnProperty: 0, length: -1 },
    { path: '../../../../etc/passwd', url: 'file:///etc/passwd', command: '$(id)', city: '\u001b[2J' },
    { text: 'x'.repeat(1024 * 1024) },
    { list: Array.from({ length: 10_000 }, (_, index) => index) },
    nested(30),
    { number: Number.MAX_VALUE, zero: -0, empty: '', nothing: null },
  ]
}

function nested(depth: number): JsonObject {
  return depth === 0 ? { end: true } : { next: nested(depth - 1) }
}
