import { Buffer } from 'node:buffer'
import { Link, TRUSTING } from '../wire/link.ts'
import type { CompartmentTerms, LoadRequest, Transport, TransportReceiver } from '../wire/protocol.ts'
import { Remote } from '../wire/rpc.ts'

/** Makes this thread a compartment over that transport. */
export type Serve = (transport: Transport, terms: CompartmentTerms) => void

const MAX_BYTES = 65_536
const TERMS: CompartmentTerms = { messageBytes: MAX_BYTES, messagesPerSecond: 1, outputBytes: MAX_BYTES, outstandingRequests: 1, busyPoll: false }
const SOURCE = 'export default { tools: { warmup: { execute: (args) => args } } }'
const LOAD: LoadRequest = {
  // Not a valid id, so no extension can have it.
  id: '~warmup',
  main: 'index.js',
  files: [['index.js', Buffer.from(SOURCE).toString('base64')]],
  config: {},
  tools: [{ name: 'warmup', powers: [] }],
}

/**
 * Loads and calls a tiny extension of ours, so that all code on the way is compiled before the first real call. Rejects when that
 * fails: a real extension would fail too.
 */
export async function warmUp(serve: Serve): Promise<void> {
  const [here, there] = transportPair()
  serve(there, TERMS)
  const { call } = new Link(here, {
    inspector: TRUSTING, maxMessageBytes: MAX_BYTES, maxQueuedBytes: Infinity, closed: () => undefined,
  })
  const remote = new Remote(call)
  await remote.call('load', LOAD)
  await remote.call('execute', 'warmup', 'warmup', {})
}

/** Two connected transports in this thread. Packets arrive later, as on a real one. */
function transportPair(): readonly [Transport, Transport] {
  const receivers: (TransportReceiver | undefined)[] = [undefined, undefined]
  const end = (own: 0 | 1, other: 0 | 1): Transport => ({
    queuedBytes: 0,
    send: (packet) => queueMicrotask(() => receivers[other]?.packet(packet)),
    listen: (receiver) => void (receivers[own] = receiver),
    close: () => undefined,
  })
  return [end(0, 1), end(1, 0)]
}
