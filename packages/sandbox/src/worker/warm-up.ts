import { Buffer } from 'node:buffer'
import type { CompartmentLoadRequest } from '@bulkhead/contract'
import { Link, TRUSTING } from '../wire/link.ts'
import { Remote } from '../wire/remote.ts'
import type { Transport, TransportReceiver } from '../wire/transport.ts'
import type { Serve } from './prepare.ts'

const MAX_BYTES = 65_536
const TERMS = { messageBytes: MAX_BYTES, messagesPerSecond: 1, outputBytes: MAX_BYTES, outstandingRequests: 1, staysAwake: false }
const SOURCE = 'export default { tools: { rehearsal: { execute: (args) => args } } }'
const LOAD: CompartmentLoadRequest = {
  // No extension can have it, and with it the place of this module.
  id: '~rehearsal',
  main: 'index.js',
  files: [['index.js', Buffer.from(SOURCE).toString('base64')]],
  config: {},
  tools: [{ name: 'rehearsal', powers: [] }],
}

/**
 * Goes once through what an extension will go through, with one of ours, so that all of it is compiled when someone waits for
 * it. Rejects when that does not work: then it would not work for an extension either.
 */
export async function rehearse(serve: Serve): Promise<void> {
  const [here, there] = transportPair()
  serve(there, TERMS)
  const { call } = new Link(here, {
    inspector: TRUSTING, maxMessageBytes: MAX_BYTES, maxQueuedBytes: Infinity, closed: () => undefined,
  })
  const remote = new Remote(call)
  await remote.call('load', LOAD)
  await remote.call('execute', 'rehearsal', 'rehearsal', {})
}

/** Two ends in this thread. What is sent arrives later, as on any other. */
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
