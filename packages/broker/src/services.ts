import type { Json, JsonObject } from '@bulkhead/kit/json'
import {
  BulkheadError, TOOL_NAME_PATTERN, type CompartmentServices, type LogEntry, type SessionAccess, type StateAccess,
} from '@bulkhead/contract'
import { requireUnderCeilings, stringArgument, type Capabilities, type OpenCall } from './model/capability.ts'

const PROGRESS_CHARS = 10_000
const LEVELS: ReadonlySet<unknown> = new Set<LogEntry['level']>(['debug', 'info', 'warn', 'error'])

/** Capabilities that the services of the host answer: env, state, session, other tools, progress. */
export function serviceCapabilities(services: CompartmentServices): Capabilities {
  return {
    ...envCapability(services),
    ...stateCapability(services),
    ...sessionCapability(services),
    ...toolsCapability(services),
    progress(call, args) {
      const text = stringArgument(args, 0, 'Progress', PROGRESS_CHARS)
      call.onProgress?.(text)
      return null
    },
    update(call, args) {
      call.onUpdate?.(args[0] ?? null)
      return null
    },
  }
}

/** Environment variables by declared name. There is no way to list them. */
function envCapability(services: CompartmentServices): Capabilities {
  return {
    'env.get'({ tool }, args) {
      const name = stringArgument(args, 0, 'The name of the variable', 128)
      if (!services.envDeclared.has(name)) {
        const message = `The manifest does not declare the variable ${name}. Add it to \`env\`.`
        throw new BulkheadError('EnvNameUndeclared', message, { data: { name } })
      }
      requireUnderCeilings(tool, 'env', `read the variable ${name}`, ({ env }) => env.includes(name))
      const value = services.env.get(name)
      if (value === undefined) {
        throw new BulkheadError(
          'EnvNameNotSet',
          `The variable ${name} is not set. Set it for the host.`,
          { data: { name } },
        )
      }
      return value
    },
  }
}

/** The state slot of the extension. */
function stateCapability(services: CompartmentServices): Capabilities {
  const slot = ({ tool }: OpenCall): StateAccess => {
    requireUnderCeilings(tool, 'state', 'keep state', ({ state }) => state.length > 0)
    if (services.state !== undefined) return services.state
    throw new BulkheadError('SlotAccessDenied', 'The extension declares no stateSlot. Declare one to keep state.')
  }
  return {
    'state.read': (call) => slot(call).read(),
    async 'state.write'(call, args) {
      await slot(call).write(args[0] ?? null)
      return null
    },
  }
}

/** Data of the extension in the session of the call. */
function sessionCapability({ session }: CompartmentServices): Capabilities {
  const access = (): SessionAccess => {
    if (session !== undefined) return session
    throw new BulkheadError('CapabilityUnavailable', 'This host does not store data for sessions.')
  }
  return {
    'session.read': async ({ callId, hostCallId }) =>
      await access().read(hostCallId ?? callId) as unknown as JsonObject,
    async 'session.write'({ callId, hostCallId }, args) {
      await access().write(hostCallId ?? callId, args[0] ?? null)
      return null
    },
  }
}

/** Calls of other tools. The host checks them against what both tools may do. */
function toolsCapability(services: CompartmentServices): Capabilities {
  return {
    async 'tools.call'({ callId, hostCallId, signal, effects }, args) {
      const name = stringArgument(args, 0, 'The name of the tool', 64)
      if (!TOOL_NAME_PATTERN.test(name)) throw new BulkheadError('InputInvalid', `"${name}" is not a tool name.`)
      if (services.callTool === undefined) {
        throw new BulkheadError('CapabilityUnavailable', 'This host does not let tools call other tools.')
      }
      effects?.add('nestedCalls', 1)
      return await services.callTool(hostCallId ?? callId, name, args[1] ?? {}, signal) as unknown as JsonObject
    },
  }
}

/**
 * Log lines of an extension, up to `maxBytes` per compartment. The line that crosses the limit is replaced by a
 * warning.
 */
export function logCapability(
  services: CompartmentServices, maxBytes: number,
): (callId: string | null, args: readonly Json[]) => void {
  let left = maxBytes
  return (callId, [level, text]) => {
    if (left <= 0 || typeof text !== 'string') return
    // Plus one, so that empty lines count too.
    left -= Buffer.byteLength(text) + 1
    const line = { level: LEVELS.has(level) ? level as LogEntry['level'] : 'info', text, callId: callId ?? undefined }
    services.log(left > 0 ? line : {
      ...line,
      level: 'warn',
      text: `The extension has logged more than ${maxBytes} bytes; further lines are dropped.`,
      code: 'LogTruncated',
    })
  }
}
