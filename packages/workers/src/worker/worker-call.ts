import {
  beyond, BulkheadError, declaredPower, localPower, narrowPower, type CompartmentLimits, type ExtensionDescriptor,
  type LeasedCall, type Power, type ToolInvocation, type ToolManifest,
} from '@bulkhead/contract'
import type { CallResult } from '../messages/result.ts'
import { limitsIn, readBody, type CallBody } from '../ticket/body.ts'
import { checkTicket, type UsedTickets } from '../ticket/check-ticket.ts'
import { readTicket, refused, type Ticket } from '../ticket/ticket.ts'
import { CallerLink } from './caller-link.ts'
import type { Compartments, WarmCompartment } from './compartments.ts'
import type { WorkerOptions } from './worker-options.ts'

/** What the calls of a worker share. */
export interface WorkerParts {
  readonly options: WorkerOptions
  readonly major: number
  readonly used: UsedTickets
  readonly compartments: Compartments
  /** Verified packages by digest. `call`: the placed call that needs it. Rejects with WorkerRefused and StoreUnavailable. */
  readonly extension: (digest: string, call: string) => Promise<ExtensionDescriptor>
}

/** Runs one leased call. Never rejects. */
export async function runLeasedCall(leased: LeasedCall, parts: WorkerParts): Promise<void> {
  const since = performance.now()
  const { options: { key, onCall } } = parts
  let ticket: Ticket
  let link: CallerLink
  try {
    // Its form and signature only: without them there is no one to answer.
    ticket = readTicket(leased.ticket)
    link = new CallerLink(leased, ticket, key)
  } catch (thrown) {
    const unsigned = { caller: '' } as Ticket
    await new CallerLink(leased, unsigned, key).settle({ error: BulkheadError.from(thrown, 'WorkerRefused') })
    return
  }
  let result: CallResult
  try {
    result = { value: await runTicket(leased, ticket, link, parts) }
  } catch (thrown) {
    result = { error: BulkheadError.from(thrown, 'ToolExecutionFailed') }
  }
  await link.settle(result)
  const error = 'error' in result ? { code: result.error.code, message: result.error.message } : undefined
  onCall?.({ tool: ticket.tool, session: ticket.session, call: ticket.call, error, ms: performance.now() - since })
}

async function runTicket(leased: LeasedCall, ticket: Ticket, link: CallerLink, parts: WorkerParts) {
  const { options, major, used, compartments } = parts
  const { id, tenant, epoch, body: bytes } = leased
  const worker = { labels: options.labels, workspaces: [...options.workspaces.keys()], major }
  checkTicket(ticket, { id, tenant, epoch, body: bytes, fleet: options.fleet(), worker, now: Date.now(), used })
  const body = readBody(leased.body)
  const extension = await parts.extension(ticket.package, leased.id)
  const tool = toolOf(ticket, extension)
  const key = {
    caller: ticket.caller, tenant: ticket.tenant, workspace: ticket.workspace, config: body.config,
    limits: bounded(limitsIn(body), options.limits), extension,
  }
  return compartments.use(key, link, (compartment) => {
    link.signal.throwIfAborted()
    const place = ticket.workspace === null ? options.bare : options.workspaces.get(ticket.workspace)!
    const grant = narrowPower(compartment.grants.get(tool.name)!, localPower(ticket.grant, place.variables))
    return call(compartment, invocationOf(leased, ticket, body, link, grant), link)
  })
}

async function call({ session, links }: WarmCompartment, invocation: ToolInvocation, link: CallerLink) {
  links.set(invocation.callId, link)
  try {
    return await session.call(invocation)
  } finally {
    links.delete(invocation.callId)
  }
}

/** The tool as the caller knows it. Throws WorkerRefused. */
function toolOf({ tool: name, definition, grant }: Ticket, { manifest, digests }: ExtensionDescriptor): ToolManifest {
  const tool = manifest.tools.find((one) => one.name === name)
  if (tool === undefined || digests.tools.get(name) !== definition) throw refused(`its package has no such tool "${name}"`)
  const { id, env, secrets, stateSlot } = manifest
  const declared = declaredPower(tool.requires, { env, secrets, state: stateSlot === null ? [] : [id] })
  const more = beyond(withVariables(grant), declared)
  if (more.length === 0) return tool
  throw refused(`its ticket grants more than "${name}" declares: ${more.map(({ kind, subject }) => `${kind} ${subject}`).join(', ')}`)
}

/** Paths without a variable are those of another machine. They are granted nowhere. */
const withVariables = (power: Power): Power => {
  const named = (patterns: readonly string[]) => patterns.filter((pattern) => pattern.startsWith('{'))
  return { ...power, fs: { read: named(power.fs.read), write: named(power.fs.write) } }
}

function bounded(limits: CompartmentLimits, most: WorkerOptions['limits']): CompartmentLimits {
  const lower = Object.entries(limits as unknown as Record<string, number>).map(([name, limit]) =>
    [name, Math.min(limit, most[name as keyof CompartmentLimits] ?? limit)])
  return Object.fromEntries(lower) as CompartmentLimits
}

function invocationOf(
  { id, epoch }: LeasedCall, { tool, session, idempotencyKey }: Ticket, body: CallBody, link: CallerLink, grant: Power,
): ToolInvocation {
  const { args, confinement, isApproved, wall, commandMs, reverts } = body
  return {
    callId: `${id}.${epoch}`, tool, args, grant, signal: link.signal, sessionId: session, isApproved,
    idempotencyKey: idempotencyKey ?? undefined, wall: wall ?? undefined, commandMs: commandMs ?? undefined,
    confinement: confinement ?? undefined, reverts: reverts ?? undefined,
    beginEffect: (what) => link.begin(what),
    steps: { begin: (name) => link.beginStep(name), end: (name, ...result) => link.endStep(name, ...result.filter((value) => value !== undefined)) },
    onProgress: (text) => link.note('progress', text),
    onUpdate: (partial) => link.note('update', partial),
    onKeyUse: (use) => link.note('key', { ...use }),
    onUse: (use) => link.used(use),
  }
}
