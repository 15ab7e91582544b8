import type { CompartmentServices } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { BulkheadError, TOOL_NAME_PATTERN } from '@bulkhead/contract'
import type { Capabilities } from './model/capability.ts'
import { textArgument } from './model/capability.ts'

/** Other tools, called through the host: it judges the call by what both tools may do. */
export function toolsCapability(services: CompartmentServices): Capabilities {
  return {
    async 'tools.call'({ callId, hostCallId, signal, effects }, args) {
      const name = textArgument(args, 0, 'The name of a tool', 64)
      if (!TOOL_NAME_PATTERN.test(name)) throw new BulkheadError('InputInvalid', 'That is not the name of a tool.')
      if (services.callTool === undefined) {
        throw new BulkheadError('CapabilityUnavailable', 'This host lets no tool call another.')
      }
      effects?.add('nestedCalls', 1)
      return await services.callTool(hostCallId ?? callId, name, args[1] ?? {}, signal) as unknown as JsonObject
    },
  }
}
