import type { MessagePort } from 'node:worker_threads'
import type { CompartmentLimits } from '@bulkhead/contract'

/** Where a socket to the host waits, in a hull of its own. */
export const CHANNEL_FD = 4

/** A script and what V8 remembers of having compiled it, which saves much of the time of a start. */
export interface CompiledScript {
  readonly text: string
  readonly cache: Uint8Array
}

/** What the thread of a compartment is started with, before anyone knows whose it will be. */
export interface WorkerStart {
  readonly script: CompiledScript
  /** The module that extensions may import of us, as one text. */
  readonly author: string
  /** Nobody waits for it yet: it has the time to go once through what it will have to do. */
  readonly spare: boolean
  /** Files that could be read to get here, and cannot be from lockdown on. */
  readonly readable: readonly string[]
  /** Whether a socket to the host waits, or a task of Piscina will come. */
  readonly inHull: boolean
}

/** What a compartment is told when it becomes that of one extension; over a socket, by the first packet. */
export interface CompartmentTerms
  extends Pick<CompartmentLimits, 'messageBytes' | 'messagesPerSecond' | 'outputBytes' | 'outstandingRequests'> {
  /** Whether it may use its processor to wait for a word that will come soon. */
  readonly staysAwake: boolean
}

/** The one task of a thread: to be a compartment until it ends. */
export interface CompartmentTask {
  readonly port: MessagePort
  readonly terms: CompartmentTerms
}
