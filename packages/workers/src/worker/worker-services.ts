import {
  BulkheadError, type CompartmentServices, type ExtensionDescriptor, type InteractionResponse, type Outcome,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { CallerLink } from './caller-link.ts'

/** The caller of a running call, by the id that the compartment knows. `null`: of the call that opened it. */
export type LinkOf = (callId: string | null) => CallerLink | undefined

/** What belongs to the caller goes to the caller. Variables and secrets are those of this machine. */
export function workerServices(
  { manifest }: ExtensionDescriptor, env: (name: string) => string | undefined, linkOf: LinkOf,
): CompartmentServices {
  const link = (callId: string | null | undefined): CallerLink => {
    const found = linkOf(callId ?? null)
    if (found) return found
    throw new BulkheadError('CapabilityDenied', `"${manifest.id}" used a service of its caller outside of a call.`)
  }
  const wants = (name: string) => manifest.tools.some(({ requires }) => requires.capabilities?.some((one) => one === name))
  const values = manifest.env.flatMap((name) => {
    const value = env(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    log: ({ level, text, callId }) => linkOf(callId ?? null)?.note('log', level, text),
    env: new Map(values),
    envDeclared: new Set(manifest.env),
    ...(manifest.secrets.length > 0 && {
      secrets: new Map(manifest.secrets.map(({ name, hosts = [], commands = [] }) =>
        [name, { value: env(name), hosts, commands }])),
    }),
    ...(manifest.stateSlot && {
      state: {
        read: async (callId?: string) => link(callId).ask('state.read'),
        write: async (data: Json, callId?: string) => void await link(callId).ask('state.write', data),
      },
    }),
    ...(wants('interact') && {
      interact: async (callId: string | null, request: object) =>
        await link(callId).ask('interact', request as Json, callId === null) as unknown as InteractionResponse,
    }),
    ...(wants('tools.call') && {
      callTool: async (callId: string, name: string, args: Json) =>
        await link(callId).ask('callTool', name, args) as unknown as Outcome,
    }),
    ...(wants('session') && {
      session: {
        read: async (callId: string) =>
          await link(callId).ask('session.read') as unknown as { readonly id: string; readonly data: Json },
        write: async (callId: string, data: Json) => void await link(callId).ask('session.write', data),
      },
    }),
  }
}
