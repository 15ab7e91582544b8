import {
  BulkheadError, TOOL_INTERACTION_KINDS, type CapabilityName, type Clock, type CompartmentServices, type InteractionRequest, type InteractionResponse, type Manifest, type Outcome, type SecretGrant, type Store,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { EventBus } from '../records/events.ts'
import type { ExtensionServices, ServiceRequest } from '../extensions/registry/candidate.ts'
import type { RunningCall } from '../calls/running-call.ts'
import type { Sidecar } from '../model/sidecar.ts'
import { askForTool } from '../calls/running-call.ts'
import { lendFiles } from './lent-files.ts'
import { RunningCalls } from '../extensions/running-calls.ts'
import { sessionMemory } from './session-memory.ts'
import type { NestedCaller } from './nested-calls.ts'
import { openSlot } from '../extensions/state-slot.ts'

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

/** What the broker of one extension may ask the host for: only what its manifest declares. */
export function createServices(sources: ServiceSources): CompartmentServices {
  const { descriptor: { id, manifest }, slotCheck, env, events } = sources
  const { stateSlot: slot } = manifest
  const declared = new Set(manifest.env)
  const wants = (name: CapabilityName) => manifest.tools.some(({ requires }) => requires.capabilities?.includes(name))
  const values = [...declared].flatMap((name) => {
    const value = env(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    log: (entry) => events.emit({ type: 'ExtensionLog', extensionId: id, ...entry }),
    env: new Map(values),
    envDeclared: declared,
    ...(manifest.secrets.length > 0 ? { secrets: secretsOf(manifest.secrets, env) } : {}),
    ...(slot && slotCheck ? { state: openSlot({ ...sources, slot, check: slotCheck }) } : {}),
    ...(wants('interact') ? { interact: interactFor(sources) } : {}),
    ...(wants('tools.call') ? { callTool: callToolFor(sources) } : {}),
    ...(wants('session') ? { session: sessionMemory(sources) } : {}),
    ...lendFiles(sources),
  }
}

/** For the broker's eyes only: no event, log or record of the host is made from these. */
function secretsOf(declared: Manifest['secrets'], env: ServiceSources['env']): ReadonlyMap<string, SecretGrant> {
  return new Map(declared.map(({ name, hosts = [], commands = [] }) => [name, { value: env(name), hosts, commands }]))
}

const ofTools: ReadonlySet<string> = new Set(TOOL_INTERACTION_KINDS)

/** Goes to the person of the session whose call asks; that call's time stands still meanwhile. */
function interactFor({ descriptor: { id }, running, starter }: ServiceSources) {
  return async (callId: string | null, request: InteractionRequest, signal: AbortSignal): Promise<InteractionResponse> => {
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
    if (!current) throw new BulkheadError('InteractionUnavailable', `The extension "${id}" asked a person outside of a call.`)
    return askForTool(current, request, source, signal)
  }
}

/** A call made by a tool goes the way of every other, under the policy of the session it is made in. */
function callToolFor({ descriptor: { id }, running, callTool }: ServiceSources) {
  return async (callId: string, name: string, args: Json, signal: AbortSignal): Promise<Outcome> => {
    const current = running.get(callId)
    if (current) return callTool(current, { name, arguments: args }, signal)
    throw new BulkheadError('CapabilityDenied', `The extension "${id}" called a tool outside of a call. Await it before the call ends.`)
  }
}
