import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { BulkheadError } from '@bulkhead/contract'
import { errorCode } from '@bulkhead/kit/error-message'
import { isResourceShortage } from '@bulkhead/kit/processes'

/** The extension is not to blame, and a later attempt may succeed. */
export const resourceShortage = (what: string, why: string, cause?: unknown): BulkheadError =>
  new BulkheadError('NoPlaceFree', `${what}: ${why}. Try again when the system has more room.`, { cause })

/** Why a command was not started, without details of the host. */
export function startError(error: unknown): BulkheadError {
  const code = errorCode(error)
  const why = code === undefined ? '' : ` (${code})`
  if (isResourceShortage(error)) {
    return new BulkheadError(
      'ResourceBusy',
      `The system has no room for a process${why}. Try again later.`,
      { cause: error },
    )
  }
  return new BulkheadError('ToolExecutionFailed', `The command could not be started${why}.`, { cause: error })
}

const CLOSE_ON_EXEC = 0o2000000

/**
 * Descriptors above stderr that a child would inherit. Node opens none that way, but the host may have been started
 * with some. On Linux Node closes only the first few of those; on macOS it closes all.
 * Contract: throws when they cannot be listed, for example because the host has no descriptors left.
 */
export function inheritableDescriptors(): readonly number[] {
  try {
    const open = readdirSync('/proc/self/fdinfo').map(Number)
    return open.filter((descriptor) => descriptor > 2 && isInheritable(descriptor))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}

/** Whether a child would inherit this descriptor. True if that is unknown. */
export function isInheritable(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0
  } catch (error) {
    // ENOENT: it is not open.
    return errorCode(error) !== 'ENOENT'
  }
}

/** Writes all that a child reads from one of its pipes, and closes it. The child waits for the end. */
export function sendWhole(pipe: Duplex, bytes: Uint8Array): void {
  // A child that ends before it has read this reports it by its exit.
  pipe.on('error', () => undefined)
  pipe.write(bytes)
  // `end` closes in a later turn, which a busy host may delay.
  if (pipe.writableLength === 0) return void pipe.destroy()
  // Unread, it would not close, and the child's `close` event waits for it.
  pipe.resume()
  pipe.end()
}

export type Stdio = readonly ('pipe' | 'ignore' | number)[]

/**
 * Starts a child without these descriptors. `ignore` leaves them open in the child, so each is replaced by /dev/null.
 */
export function startMasked<Child>(
  stdio: Stdio, masked: readonly number[], start: (stdio: [...Stdio]) => Child,
): Child {
  if (masked.length === 0) return start([...stdio])
  const devNull = openSync('/dev/null', 'r')
  try {
    return start(Array.from({ length: Math.max(stdio.length, ...masked.map((at) => at + 1)) }, (_, at) => {
      const given = stdio[at] ?? 'ignore'
      return given === 'ignore' && masked.includes(at) ? devNull : given
    }))
  } finally {
    closeSync(devNull)
  }
}
