import type { MessagePort } from 'node:worker_threads'
import { MessageChannel } from 'node:worker_threads'
import type { CompartmentRequest, CompartmentSession } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { onTestFinished } from 'vitest'
import { Broker } from '../../broker/src/broker.ts'
import type { Hull, HullExit } from '../src/process/hull.ts'
import { startSession } from '../src/session/open.ts'
import { remotePeer } from '../src/session/peer.ts'
import { TRUSTING } from '../src/wire/link.ts'
import { KINDS } from '../src/wire/message.ts'
import type { Request } from '../src/wire/protocol.ts'
import { portTransport } from '../src/wire/transport.ts'

export interface Received {
  readonly kind: number
  readonly id: number
  /** Set for a request. */
  readonly method: string
  readonly args: readonly Json[]
  /** Set for a reply. */
  readonly value: Json
}

/** The compartment's side of the wire under control of a test: it sees every message and can post any packet. */
export class ScriptedPeer {
  readonly hull: Hull
  killed = false
  readonly received: Received[] = []
  readonly #port: MessagePort
  readonly #exited = Promise.withResolvers<HullExit>()
  readonly #waiting = new Set<() => void>()

  constructor() {
    const { port1: theirs, port2: ours } = new MessageChannel()
    this.#port = ours
    ours.on('message', (packet: unknown) => {
      for (const [kind, id, third, args] of TRUSTING.received(packet) as readonly Request[]) {
        this.received.push({ kind, id, method: third, args, value: third })
      }
      for (const wake of this.#waiting) wake()
    })
    this.hull = {
      transport: portTransport(theirs),
      ready: Promise.resolve(true),
      exited: this.#exited.promise,
      kill: () => {
        this.killed = true
        this.end({ kind: 'killed' })
      },
    }
    onTestFinished(() => this.end({ kind: 'killed' }))
  }

  hangUp(): void {
    this.#port.close()
  }

  end(exit: HullExit): void {
    this.hangUp()
    this.#exited.resolve(exit)
  }

  post(packet: unknown): void {
    this.#port.postMessage(packet)
  }

  send(...messages: readonly unknown[]): void {
    this.post(JSON.stringify(messages))
  }

  /** The next unread message; with a name, the next one of that method. */
  async next(method?: string): Promise<Received> {
    for (;;) {
      const at = this.received.findIndex((message) => method === undefined || message.method === method)
      if (at >= 0) return this.received.splice(at, 1)[0]!
      await new Promise<void>((wake) => {
        const once = (): void => {
          this.#waiting.delete(once)
          wake()
        }
        this.#waiting.add(once)
      })
    }
  }

  reply(id: number, value: unknown): void {
    this.send([KINDS.call.value, id, value])
  }

  open(request: CompartmentRequest): Promise<CompartmentSession> {
    const broker = new Broker(request, '/')
    return startSession(request, broker, remotePeer(this.hull, broker, request.limits))
  }

  /** A loaded session whose compartment is this script. */
  async session(request: CompartmentRequest): Promise<CompartmentSession> {
    const opening = this.open(request)
    const { id } = await this.next('load')
    this.reply(id, { tools: request.tools.map(({ name }) => ({ name, approvalKey: false })), phases: ['init'] })
    return opening
  }
}
