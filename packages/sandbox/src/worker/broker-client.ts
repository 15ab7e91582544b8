import type { Ask } from '../extension/ask.ts'
import type { Endpoint } from '../wire/comlink.ts'
import { wrap } from '../wire/comlink.ts'

/**
 * Capability calls to the host. No more than `atOnce` are under way; the others wait here, because the host takes a
 * compartment that asks for more at once for one that floods it.
 */
export function brokerClient(endpoint: Endpoint, atOnce: number): Ask {
  const remote = wrap(endpoint)
  const waiting: (() => void)[] = []
  let free = atOnce
  return async (method, ...args) => {
    if (free > 0) free--
    else await new Promise<void>((takePlace) => void waiting.push(takePlace))
    try {
      return await remote(method)(...args)
    } finally {
      const takePlace = waiting.shift()
      if (takePlace === undefined) free++
      else takePlace()
    }
  }
}
