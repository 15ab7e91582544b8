import type { CompartmentServices, StateAccess } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import type { Capabilities } from './capability.ts'

/** The own slot of the extension, through the host's access to it. */
export function stateCapability(services: CompartmentServices): Capabilities {
  const slot = (): StateAccess => {
    if (services.state !== undefined) return services.state
    throw new BulkheadError('SlotAccessDenied', 'The extension declares no stateSlot. Declare one to keep state.')
  }
  return {
    'state.read': () => slot().read(),
    async 'state.write'(_call, args) {
      await slot().write(args[0] ?? null)
      return null
    },
  }
}
