import type { Ask } from '../extension/ask.ts'
import type { Conversation } from '../wire/conversation.ts'
import { Remote } from '../wire/remote.ts'

/**
 * Capability calls to the host. No more than `atOnce` are under way; the others wait here, because the host takes a
 * compartment that asks for more at once for one that floods it.
 */
export function brokerClient(conversation: Conversation, atOnce: number): Ask {
  const remote = new Remote(conversation)
  const waiting: (() => void)[] = []
  let free = atOnce
  return async (method, ...args) => {
    if (free > 0) free--
    else await new Promise<void>((takePlace) => void waiting.push(takePlace))
    try {
      return await remote.call(method, ...args)
    } finally {
      const takePlace = waiting.shift()
      if (takePlace === undefined) free++
      else takePlace()
    }
  }
}
