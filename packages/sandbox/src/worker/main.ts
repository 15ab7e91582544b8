// The thread of a compartment. In a child process it talks over a socket, in the host's process over a port.
import { Buffer } from 'node:buffer'
import { format } from 'node:util'
import { parentPort, workerData } from 'node:worker_threads'
import type { Log } from '@bulkhead/contract/author'
import type { JsonObject } from '@bulkhead/kit/json'
import { LogSender } from '../extension/capabilities.ts'
import { Link, TRUSTING } from '../wire/link.ts'
import { CHANNEL_FD } from '../wire/message.ts'
import type {
  CompartmentTask, CompartmentTerms, LoadRequest, Transport, TransportReceiver, Reverts, Variables, WorkerStart,
} from '../wire/protocol.ts'
import { expose, Remote } from '../wire/rpc.ts'
import { descriptorTransport, portTransport } from '../wire/transport.ts'
import { brokerClient } from './broker-client.ts'
import { Compartment } from './compartment.ts'
import { openInspector } from './inspector.ts'
import { lockDown } from './lockdown.ts'
import { sealModules, type ModuleMap } from './modules.ts'
import { probeLockdown } from './probe.ts'

/** Captured before extension code runs, which could replace it. */
const { exit } = process

/** Makes this thread a compartment over that transport. */
type Serve = (transport: Transport, terms: CompartmentTerms) => void

/** Overhead of a packet with one message. */
const PACKET_OVERHEAD_BYTES = 16

/**
 * Everything that can be done before the extension is known. The order matters: code that needs permissions runs before
 * lockdown, the probe after it, and the code of the extension last. Never rejects: a thread that failed reports it when
 * it is used.
 */
async function prepare(): Promise<Serve> {
  const { author, spare, inspects = false } = workerData as WorkerStart
  let log: LogSender | undefined
  const link = (transport: Transport, { messageBytes, busyPoll }: CompartmentTerms): Link => {
    const maxMessageBytes = messageBytes - PACKET_OVERHEAD_BYTES
    return new Link(transport, {
      inspector: TRUSTING, maxMessageBytes, maxQueuedBytes: Infinity, busyPoll, closed: () => exit(0),
    })
  }
  const serveFrom = (modules: ModuleMap): Serve => (transport, terms) => {
    const { messageBytes, outputBytes, ...rates } = terms
    const { call, broker } = link(transport, terms)
    const callBroker = brokerClient(broker, rates)
    log = new LogSender(callBroker)
    const output = { maxDepth: 60, maxNodes: 200_000, maxBytes: outputBytes }
    const compartment = new Compartment({ modules, callBroker, output, messageBytes })
    expose(compartment, call, {
      method: 'execute',
      run: ([callId, tool, args, env, reverts, key]) => compartment.execute(
        callId as string, tool as string, args as JsonObject, env as Variables | undefined,
        reverts as Reverts | null | undefined, key as string | undefined,
      ),
    })
  }
  try {
    if (inspects) openInspector()
    lockDown({ console: logConsole((level, text) => log?.send(level, text, null)) })
    const modules = sealModules(author)
    await probeLockdown(inspects)
    if (spare) await warmUp(serveFrom(modules))
    modules.forget()
    return serveFrom(modules)
  } catch (failure) {
    return (transport, terms) => expose({ load: () => Promise.reject(failure) }, link(transport, terms).call)
  }
}

/** A console without streams. Its lines go to the host's log. */
function logConsole(write: (level: keyof Log, text: string) => void): object {
  const line = (level: keyof Log) => (...values: readonly unknown[]): void => write(level, format(...values))
  const ignored = (): void => undefined
  return Object.freeze({
    debug: line('debug'), log: line('info'), info: line('info'), warn: line('warn'), error: line('error'),
    trace: line('debug'),
    dir: line('info'), table: line('info'), group: ignored, groupCollapsed: ignored, groupEnd: ignored, time: ignored,
    timeEnd: ignored, timeLog: ignored, count: ignored, countReset: ignored, clear: ignored,
    assert: (condition: unknown, ...values: readonly unknown[]) =>
      condition || line('error')('Assertion failed:', ...values),
  })
}

const WARM_UP_BYTES = 65_536
const WARM_UP_TERMS: CompartmentTerms = {
  messageBytes: WARM_UP_BYTES, messagesPerSecond: 1, outputBytes: WARM_UP_BYTES, outstandingRequests: 1,
  busyPoll: false,
}
const WARM_UP_SOURCE = 'export default { tools: { warmup: { execute: (args) => args } } }'
const WARM_UP_LOAD: LoadRequest = {
  // Not a valid id, so no extension can have it.
  id: '~warmup',
  main: 'index.js',
  files: [['index.js', Buffer.from(WARM_UP_SOURCE).toString('base64')]],
  config: {},
  tools: [{ name: 'warmup', powers: [] }],
}

/**
 * Loads and calls a tiny extension, so that all code on the way is compiled before the first real call. Rejects when
 * that fails: a real extension would fail too.
 */
async function warmUp(serve: Serve): Promise<void> {
  const [here, there] = transportPair()
  serve(there, WARM_UP_TERMS)
  const { call } = new Link(here, {
    inspector: TRUSTING, maxMessageBytes: WARM_UP_BYTES, maxQueuedBytes: Infinity, closed: () => undefined,
  })
  const remote = new Remote(call)
  await remote.call('load', WARM_UP_LOAD)
  await new Promise((answered, failed) => remote.request('execute', ['warmup', 'warmup', {}], { answered, failed }))
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

// Created before lockdown, and not read before the thread is prepared.
const socket = (workerData as WorkerStart).inHull ? descriptorTransport(CHANNEL_FD) : undefined

/** Resolves when the thread is locked down and waits. */
export const prepared = prepare()

if (socket === undefined) {
  parentPort!.once('message', ({ port, terms }: CompartmentTask) =>
    void prepared.then((serve) => serve(portTransport(port), terms)))
}
void prepared.then((serve) => {
  if (socket !== undefined) serveAfterTerms(socket, serve)
  parentPort!.postMessage('ready')
})

function serveAfterTerms(over: Transport, serve: Serve): void {
  let receiver: TransportReceiver | undefined
  over.listen({
    packet(packet) {
      if (receiver !== undefined) return receiver.packet(packet)
      const rest: Transport = {
        get queuedBytes() {
          return over.queuedBytes
        },
        send: (sent) => over.send(sent),
        listen: (given) => void (receiver = given),
        close: () => over.close(),
      }
      serve(rest, JSON.parse(packet as string) as CompartmentTerms)
    },
    drained: () => receiver?.drained?.(),
    closed: (error) => receiver === undefined ? exit(0) : receiver.closed(error),
  })
}
