import { workerData } from 'node:worker_threads'
import type { JsonObject } from '@bulkhead/kit/json'
import { LogSender } from '../extension/log.ts'
import { expose } from '../wire/comlink.ts'
import { Link, TRUSTING } from '../wire/link.ts'
import type { Transport } from '../wire/transport.ts'
import type { CompartmentTerms, WorkerStart } from '../wire/worker-start.ts'
import { brokerClient } from './broker-client.ts'
import { Compartment } from './compartment.ts'
import { logConsole } from './console.ts'
import { lockDown } from './lockdown.ts'
import type { ModuleMap } from './modules.ts'
import { sealModules } from './modules.ts'
import { probeLockdown } from './probe.ts'
import { rehearse } from './warm-up.ts'

/** What a packet costs beside its only message. */
const PACKET_OVERHEAD_BYTES = 16

/** Makes this thread the compartment of whoever speaks on the transport. */
export type Serve = (transport: Transport, terms: CompartmentTerms) => void

/**
 * All that can be done before anyone knows whose compartment this will be. Order matters: what needs power comes before
 * lockdown, the probe after it, and the extension's code last. Never rejects: a thread that failed says so when it is used.
 */
export async function prepare(): Promise<Serve> {
  const { exit } = process
  const { author, spare, readable } = workerData as WorkerStart
  let log: LogSender | undefined
  const link = (transport: Transport, { messageBytes, staysAwake }: CompartmentTerms): Link => {
    const maxMessageBytes = messageBytes - PACKET_OVERHEAD_BYTES
    return new Link(transport, { inspector: TRUSTING, maxMessageBytes, maxQueuedBytes: Infinity, staysAwake, closed: () => exit(0) })
  }
  const serveFrom = (modules: ModuleMap): Serve => (transport, terms) => {
    const { messageBytes, outputBytes, ...rates } = terms
    const { call, broker } = link(transport, terms)
    const ask = brokerClient(broker, rates)
    log = new LogSender(ask)
    const output = { maxDepth: 60, maxNodes: 200_000, maxBytes: outputBytes }
    const compartment = new Compartment({ modules, ask, output, messageBytes })
    expose(compartment, call, {
      method: 'execute',
      answer: ([callId, tool, args]) => compartment.execute(callId as string, tool as string, args as JsonObject),
    })
  }
  try {
    lockDown({ console: logConsole((level, text) => log?.send(level, text, null)) })
    const modules = sealModules(author)
    await probeLockdown(readable)
    if (spare) await rehearse(serveFrom(modules))
    modules.forget()
    return serveFrom(modules)
  } catch (failure) {
    return (transport, terms) => expose({ load: () => Promise.reject(failure) }, link(transport, terms).call)
  }
}
