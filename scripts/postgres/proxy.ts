// Stands between a host and its PostgreSQL: it holds bytes back, and cuts connections where a test wants it.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** Bytes of which direction. */
export type Traffic = 'requests' | 'answers'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly held: Record<Traffic, Buffer[]>
  isCut: boolean
  /** Set once it has sent what must not be answered. */
  onAnswer?: () => void
}

export class PostgresProxy {
  readonly #listener: Server
  readonly #pairs = new Set<Pair>()
  readonly #holds: Record<Traffic, boolean> = { requests: false, answers: false }
  /** What cuts the next connection that uses it. */
  #cutNext: Traffic | undefined
  #unanswered: { readonly text: string; readonly onAnswer: () => void } | undefined

  private constructor(listener: Server) {
    this.#listener = listener
  }

  /** To the server at this port of the machine. */
  static async start(serverPort: number): Promise<PostgresProxy> {
    const listener = createServer()
    const proxy = new PostgresProxy(listener)
    listener.on('connection', (client) => proxy.#join(client, connect(serverPort, '127.0.0.1')))
    listener.listen(0, '127.0.0.1').unref()
    await once(listener, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#listener.address() as AddressInfo).port
  }

  get isHolding(): boolean {
    return this.#holds.requests || this.#holds.answers
  }

  /** Bytes of this direction wait from now on. */
  hold(what: Traffic): void {
    this.#holds[what] = true
  }

  /** Lets everything through again, also what a host sent whose connection was cut meanwhile. */
  release(): void {
    this.#holds.requests = false
    this.#holds.answers = false
    for (const { client, server, held, isCut } of this.#pairs) {
      for (const bytes of held.requests.splice(0)) server.write(bytes)
      for (const bytes of held.answers.splice(0)) if (!isCut) client.write(bytes)
      if (isCut) server.end()
    }
  }

  /** Cuts every connection. The server does not notice, and gets later what is held back. */
  cut(): void {
    for (const pair of this.#pairs) this.#cut(pair)
    if (!this.isHolding) this.release()
  }

  /** Cuts the next connection that sends something: in the middle of it, or when the answer comes. */
  cutNext(what: Traffic): void {
    this.#cutNext = what
  }

  /** Cuts the next connection that sends this text, when the answer comes. Resolves then. */
  cutAnswerTo(text: string): Promise<void> {
    return new Promise((resolve) => { this.#unanswered = { text, onAnswer: resolve } })
  }

  close(): void {
    this.#listener.close()
    for (const { client, server } of this.#pairs) {
      client.destroy()
      server.destroy()
    }
  }

  #join(client: Socket, server: Socket): void {
    const pair: Pair = { client, server, held: { requests: [], answers: [] }, isCut: false }
    this.#pairs.add(pair)
    for (const socket of [client, server]) socket.setNoDelay(true).unref().on('error', () => undefined)
    client.on('data', (bytes: Buffer) => this.#pass(pair, 'requests', bytes))
    server.on('data', (bytes: Buffer) => this.#pass(pair, 'answers', bytes))
    client.on('close', () => { if (!pair.isCut) server.destroy() })
    server.on('close', () => {
      client.destroy()
      this.#pairs.delete(pair)
    })
  }

  #pass(pair: Pair, what: Traffic, bytes: Buffer): void {
    if (pair.isCut && what === 'answers') return
    if (what === 'requests' && this.#unanswered && bytes.includes(this.#unanswered.text)) {
      pair.onAnswer = this.#unanswered.onAnswer
      this.#unanswered = undefined
    } else if (what === 'answers' && pair.onAnswer) {
      pair.onAnswer()
      this.#cut(pair)
      return void pair.server.end()
    }
    if (this.#cutNext === what && !this.isHolding) {
      this.#cutNext = undefined
      if (what === 'requests') pair.server.write(bytes.subarray(0, Math.ceil(bytes.length / 2)))
      this.#cut(pair)
      return void pair.server.end()
    }
    if (this.#holds[what]) return void pair.held[what].push(bytes)
    const to = what === 'requests' ? pair.server : pair.client
    to.write(bytes)
  }

  #cut(pair: Pair): void {
    pair.isCut = true
    pair.client.destroy()
  }
}
