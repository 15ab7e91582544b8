import {
  BulkheadError, TOOL_INTERACTION_KINDS, type CapabilityName, type Clock, type CompartmentServices,
  type ExtensionDescriptor, type InteractionRequest, type InteractionResponse, type Manifest, type Outcome,
  type SecretGrant, type SessionAccess, type Store, type WholeOutput,
} from '@bulkhead/contract'
import { onAbort } from '@bulkhead/kit/deadlines'
import { atPointer, findJsonFault, type Json } from '@bulkhead/kit/json'
import { runCall } from '../calls/pipeline.ts'
import { changeServices } from './change-services.ts'
import type { ToolCall } from '../calls/receive.ts'
import { asWaiting, type RunningCall } from '../calls/running-call.ts'
import { askForTool } from '../calls/tool-questions.ts'
import { openOutput } from '../calls/whole-output.ts'
import type { ExtensionServices, ServiceRequest } from '../extensions/registry/candidate.ts'
import { RunningCalls } from '../extensions/running-calls.ts'
import { openSlot } from '../extensions/state-slot.ts'
import { CancelScope } from '../model/cancel-scope.ts'
import type { CallScope, HostContext } from '../policy/call.ts'
import type { SessionScope } from '../policy/call-session.ts'
import { filesLentTo, mayBorrow, NO_FILES } from '../policy/lent-files.ts'
import { memoryOf, recall, remember } from '../policy/session-memory.ts'
import type { EventBus } from '../records/events.ts'
import type { Sidecar } from '../records/timeouts.ts'

/** What the services of every extension of a workspace share. */
export interface SharedSources {
  readonly store: Store
  readonly workspace: string
  readonly env: (name: string) => string | undefined
  readonly events: EventBus
  readonly callTool: NestedCaller
  readonly clock: Clock
  readonly sidecar: Sidecar | undefined
}

export interface ServiceSources extends SharedSources, ServiceRequest {
  readonly running: RunningCalls<RunningCall>
}

export function servicesFor(request: ServiceRequest, shared: SharedSources): ExtensionServices {
  const running = new RunningCalls<RunningCall>()
  return { running, create: () => createServices({ ...shared, ...request, running }) }
}

/** The services that the broker of one extension gets: only those that its manifest declares. */
function createServices(sources: ServiceSources): CompartmentServices {
  const { descriptor: { id, manifest }, slotCheck, env, events, running } = sources
  const { stateSlot: slot } = manifest
  const declared = new Set(manifest.env)
  const wants = (name: CapabilityName) => manifest.tools.some(({ requires }) => requires.capabilities?.includes(name))
  const values = [...declared].flatMap((name) => {
    const value = env(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    log: (entry) => {
      events.emit({ type: 'ExtensionLog', extensionId: id, ...entry })
      if (entry.callId !== undefined) running.get(entry.callId)?.onLog(entry)
    },
    env: new Map(values),
    envDeclared: declared,
    ...(manifest.secrets.length > 0 ? { secrets: secretsOf(manifest.secrets, env) } : {}),
    ...(slot && slotCheck ? { state: openSlot({ ...sources, slot, check: slotCheck, principalOf: principalFor(sources) }) } : {}),
    ...(wants('interact') ? { interact: interactFor(sources) } : {}),
    ...(wants('tools.call') ? { callTool: callToolFor(sources) } : {}),
    ...(wants('session') ? { session: sessionMemory(sources) } : {}),
    ...lendFiles(sources),
    ...saveOutput(sources),
    client: (callId) => running.get(callId)?.call.session.client,
    ...changeServices(sources),
  }
}

/** Whose state a running call uses. A call that is over gets none: it could be that of another. */
const principalFor = ({ descriptor: { id }, running }: MemorySources) => (callId: string): string | undefined => {
  const current = running.get(callId)
  if (current) return current.call.session.principal?.id
  throw new BulkheadError(
    'CapabilityDenied', `The extension "${id}" used its state outside of a call. Await it before the call ends.`,
  )
}

/** Secret: no event, log or record of the host may contain these. */
function secretsOf(declared: Manifest['secrets'], env: ServiceSources['env']): ReadonlyMap<string, SecretGrant> {
  return new Map(declared.map(({ name, hosts = [], commands = [] }) => [name, { value: env(name), hosts, commands }]))
}

const ofTools: ReadonlySet<string> = new Set(TOOL_INTERACTION_KINDS)

/** Asks the person of the session that made the call, and pauses the time of the call. */
function interactFor({ descriptor: { id }, running, starter }: ServiceSources) {
  return async (
    callId: string | null, request: InteractionRequest, signal: AbortSignal,
  ): Promise<InteractionResponse> => {
    if (!ofTools.has(request.kind)) {
      const message = `The extension "${id}" asked a person by "${request.kind}", which belongs to the host.`
      throw new BulkheadError('CapabilityDenied', message)
    }
    const source = `extension ${id}`
    if (callId === null) {
      const person = starter() ?? running.any()?.call.session.interactions
      if (person) return person.raise(request, source, signal)
    }
    const current = callId === null ? undefined : running.get(callId)
    if (!current) {
      throw new BulkheadError('InteractionUnavailable', `The extension "${id}" asked a person outside of a call.`)
    }
    return askForTool(current, request, source, signal)
  }
}

/** A nested call runs through the same pipeline, under the policy of its session. */
function callToolFor({ descriptor, running, callTool }: ServiceSources) {
  const { id } = descriptor
  return async (callId: string, name: string, args: Json, signal: AbortSignal): Promise<Outcome> => {
    const current = running.get(callId)
    if (current) return callTool(current, { name, arguments: args }, signal, makesOwnCalls(descriptor, current))
    throw new BulkheadError(
      'CapabilityDenied', `The extension "${id}" called a tool outside of a call. Await it before the call ends.`,
    )
  }
}

/**
 * Whether the calls of a tool are the session's own. Only the host's `code_mode` has this, and only if the model called
 * it: a third-party tool that calls it would gain power.
 */
const makesOwnCalls = ({ id, layer, code }: ProgramSource, { call }: RunningCall): boolean =>
  id === PROGRAM_EXTENSION && layer === 'bundled' && code.kind === 'module' && call.parent === undefined

type ProgramSource = Pick<ExtensionDescriptor, 'id' | 'layer' | 'code'>
const PROGRAM_EXTENSION = 'code-mode'

export interface LendingSources {
  readonly descriptor: Pick<ExtensionDescriptor, 'id' | 'layer'>
  readonly running: Pick<RunningCalls<RunningCall>, 'get'>
  readonly sidecar: Sidecar | undefined
}

export function lendFiles({ descriptor, running, sidecar }: LendingSources): Pick<CompartmentServices, 'lentFiles'> {
  if (sidecar?.files === undefined || !mayBorrow(descriptor)) return {}
  return {
    lentFiles: (callId) => {
      const call = running.get(callId)?.call
      return call === undefined ? NO_FILES : filesLentTo(call, descriptor, sidecar)
    },
  }
}

/** The bundled tools whose output may be long. */
const SAVERS: ReadonlySet<string> = new Set(['bash', 'git', 'glob', 'grep', 'test-runner'])

/**
 * Their output goes to a file while they run. What a nested call returns goes to a program, which gets the result: both
 * ends of a long one. A file is for what a model sees.
 */
function saveOutput(
  { descriptor: { id, layer }, running, sidecar, events }: LendingSources & Pick<ServiceSources, 'events'>,
): Pick<CompartmentServices, 'wholeOutput'> {
  const open = sidecar?.open
  if (layer !== 'bundled' || !SAVERS.has(id)) return {}
  return {
    wholeOutput: (callId) => {
      const current = running.get(callId)
      if (current === undefined) return undefined
      const { call } = current
      if (open === undefined || call.parent !== undefined) return NOT_SAVED
      const { tool: { maxOutputBytes: shownBytes, extension: { limits: { savedBytes } } } } = call
      return openOutput(current, { sidecar: { open }, events, savedBytes, shownBytes })
    },
  }
}

const NOT_SAVED: WholeOutput = { add: () => undefined, leaveOut: () => undefined }

/** The limit for one extension in one session, as JSON. */
const MAX_CHARS = 256 * 1024

export interface MemorySources {
  readonly descriptor: Pick<ExtensionDescriptor, 'id' | 'layer'>
  readonly running: Pick<RunningCalls<RunningCall>, 'get'>
}

/**
 * The memory of one extension in the session of a running call. It ends with the session, and is stored with it.
 */
function sessionMemory({ descriptor, running }: MemorySources): SessionAccess {
  const { id } = descriptor
  const sessionOf = (callId: string): SessionScope => {
    const current = running.get(callId)
    if (current) {
      recall(current.call, descriptor)
      return current.call.session
    }
    throw new BulkheadError(
      'CapabilityDenied', `The extension "${id}" asked for a session outside of a call. Ask while one runs.`,
    )
  }
  return {
    async read(callId) {
      const session = sessionOf(callId)
      return { id: session.id, data: memoryOf(session, descriptor) ?? null }
    },
    async write(callId, data) {
      const session = sessionOf(callId)
      const fault = findJsonFault(data)
      const isTooLong = fault === undefined && JSON.stringify(data).length > MAX_CHARS
      if (fault || isTooLong) {
        const why = fault ? `${atPointer(fault.path)} ${fault.message}` : ` is longer than ${MAX_CHARS} characters`
        throw new BulkheadError('StateInvalid', `What "${id}" keeps for its session${why}.`)
      }
      remember(session, descriptor, data)
      // What a tool counts here must not be less after a crash.
      await session.kept?.save()
    },
  }
}

/** Makes a call on behalf of a tool that is running. Contract: never rejects. */
export type NestedCaller = (
  by: RunningCall, call: Omit<ToolCall, 'id'>, signal: AbortSignal, isProgram?: boolean, reverts?: CallScope['reverts'],
) => Promise<Outcome>

/** `host` is asked for when a call is made: extensions are prepared before the host is whole. */
export function createNestedCaller(host: () => HostContext): NestedCaller {
  let count = 0
  return (by, { name, arguments: args }, signal, isProgram = false, reverts) => {
    const { call } = by
    const { session, tools, budget, turn, turnNumber, onProgress, onLog } = call.scope
    const cancel = new CancelScope()
    const end = () => cancel.cancel(call.scope.cancel.reason ?? orphaned(call.name))
    const forget = [by.nest(end), onAbort(signal, end)]
    const parent = {
      callId: call.id, rootCallId: call.parent?.rootCallId ?? call.id, tool: call.tool,
      callers: isProgram ? [] : [...call.callers, call.tool], running: by, isProgram,
      ...asWaiting(by),
    }
    return runCall({
      scope: {
        session, tools, budget, turn, turnNumber, cancel, parent, reverts, resumption: undefined, onProgress, onLog,
        ended: () => forget.forEach((off) => off()),
      },
      call: { id: `${call.id.slice(0, 100)}.${++count}`, name, arguments: args },
      timeoutMs: undefined,
    }, host())
  }
}

const orphaned = (caller: string) =>
  new BulkheadError('ToolCancelled', `The tool "${caller}", which made the call, has ended.`)
