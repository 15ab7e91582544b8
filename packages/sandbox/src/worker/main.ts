// The code of a compartment, from an open channel to the first call. Order matters: what needs power comes before
// lockdown, the probe after it, and the extension's code last.
import { Socket } from 'node:net'
import { workerData } from 'node:worker_threads'
import '@bulkhead/contract/author'
import { LogSender } from '../extension/log.ts'
import { expose } from '../wire/comlink.ts'
import { Link, TRUSTING } from '../wire/link.ts'
import { portTransport } from '../wire/port-transport.ts'
import { socketTransport } from '../wire/socket-transport.ts'
import type { WorkerStart } from '../wire/worker-start.ts'
import { CHANNEL_FD } from '../wire/worker-start.ts'
import { brokerClient } from './broker-client.ts'
import { Compartment } from './compartment.ts'
import { logConsole } from './console.ts'
import { lockDown } from './lockdown.ts'
import { sealModules } from './modules.ts'
import { probeLockdown } from './probe.ts'

/** What a packet costs beside its only message. */
const PACKET_OVERHEAD_BYTES = 16

const { limits, port, authorUrl } = workerData as WorkerStart
const transport = port === undefined
  ? socketTransport(new Socket({ fd: CHANNEL_FD }), { maxFrameBytes: 0xffff_ffff, readOnlyWhenDrained: false })
  : portTransport(port)
const { exit } = process
const link = new Link(transport, {
  inspector: TRUSTING,
  maxMessageBytes: limits.messageBytes - PACKET_OVERHEAD_BYTES,
  maxQueuedBytes: Infinity,
  closed: () => exit(0),
})
const ask = brokerClient(link.broker, limits.outstandingRequests)
const log = new LogSender(ask)

try {
  await lockDown({ console: logConsole((level, text) => log.send(level, text, null)) })
  const modules = sealModules(authorUrl)
  await probeLockdown()
  expose(new Compartment({ modules, ask, output: { maxDepth: 60, maxNodes: 200_000, maxBytes: limits.outputBytes } }), link.call)
} catch (failure) {
  const refuse = (): never => {
    throw failure
  }
  expose({ load: refuse }, link.call)
}
