import type { Capabilities } from './model/capability.ts'
import { textArgument } from './model/capability.ts'

const PROGRESS_CHARS = 10_000

/** Text for the person who waits for the call. */
export function progressCapability(): Capabilities {
  return {
    progress(call, args) {
      const text = textArgument(args, 0, 'Progress', PROGRESS_CHARS)
      call.onProgress?.(text)
      return null
    },
  }
}
