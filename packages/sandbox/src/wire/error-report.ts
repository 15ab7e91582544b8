import type { EndReport } from './hull-protocol.ts'

const MESSAGE_CHARS = 2_000

/** What nobody caught in the thread of a compartment, whatever it is. */
export function errorReport(error: unknown): EndReport {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return {
    type: 'error',
    ...(typeof code === 'string' && { code }),
    ...(typeof message === 'string' && { message: message.slice(0, MESSAGE_CHARS) }),
  }
}
