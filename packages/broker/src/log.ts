import type { CompartmentServices, LogEntry } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'

const LEVELS: ReadonlySet<unknown> = new Set<LogEntry['level']>(['debug', 'info', 'warn', 'error'])

/** Lines of the code to the host's log, until the compartment has used up its share; that it has is said once. */
export function logCapability(
  services: CompartmentServices,
  maxBytes: number,
): (callId: string | null, args: readonly Json[]) => void {
  let left = maxBytes
  return (callId, [level, text]) => {
    if (left <= 0 || typeof text !== 'string') return
    // Each is a line, also one with nothing in it.
    left -= Buffer.byteLength(text) + 1
    const line = { level: LEVELS.has(level) ? level as LogEntry['level'] : 'info', text, callId: callId ?? undefined }
    services.log(left > 0 ? line : {
      ...line,
      level: 'warn',
      text: `The extension has logged more than ${maxBytes} bytes; what it logs from here on is dropped.`,
      code: 'LogTruncated',
    })
  }
}
