import type { Capabilities } from './model/capability.ts'

/** A partial result for whoever watches the call. */
export function updateCapability(): Capabilities {
  return {
    update(call, args) {
      call.onUpdate?.(args[0] ?? null)
      return null
    },
  }
}
