import type { CompartmentServices, StateAccess } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { Capabilities, OpenCall } from './model/capability.ts'
import { requireUnderCeilings } from './model/denial.ts'

/** The own slot of the extension, through the host's access to it. */
export function stateCapability(services: CompartmentServices): Capabilities {
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
