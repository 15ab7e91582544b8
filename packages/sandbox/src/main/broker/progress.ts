import type { Capabilities } from './capability.ts'
import { textArgument } from './capability.ts'

const PROGRESS_CHARS = 10_000

/** Text for the person who waits for the call. */
export function progressCapability(): Capabilities {
  return {
    progress(call, args) {
      call.onProgress?.(textArgument(args, 0, 'Progress', PROGRESS_CHARS))
      return null
    },
  }
}
