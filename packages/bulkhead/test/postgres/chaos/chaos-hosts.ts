import { fileURLToPath } from 'node:url'
import type { Outcome } from '@bulkhead/contract'
import { PostgresProxy } from '../../../../../scripts/postgres/proxy.ts'
import type { PostgresServer } from '../../../../../scripts/postgres/server.ts'
import { ReplicaProcess } from '../../replicas/replica.ts'

const HOST = fileURLToPath(new URL('./chaos-host.ts', import.meta.url))

export const pause = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms) })

/** One of the hosts, and each that follows it, behind a proxy that can cut its connections. */
export class Place {
  readonly #folder: string
  readonly #url: string
  readonly proxy: PostgresProxy
  #replica: ReplicaProcess | undefined
  /** Whether calls are sent to it. One that stands still gets none. */
  isOpen = false

  private constructor(folder: string, url: string, proxy: PostgresProxy) {
    this.#folder = folder
    this.#url = url
    this.proxy = proxy
  }

  /** Each place has an audit of its own. */
  static async open(folder: string, server: PostgresServer, name: string): Promise<Place> {
    const proxy = await PostgresProxy.start(server.port)
    const url = `${server.url().replace(`:${server.port}/`, `:${proxy.port}/`)}&name=${name}`
    const place = new Place(folder, url, proxy)
    await place.start()
    return place
  }

  async start(): Promise<void> {
    this.#replica = await ReplicaProcess.start(this.#folder, { url: this.#url }, HOST)
    this.isOpen = true
  }

  /** Rejects with the code of the error, or when the host has ended. */
  ask(method: 'call' | 'answer', ...args: readonly unknown[]): Promise<Outcome> {
    return this.#replica!.ask(method, ...args)
  }

  async kill(): Promise<void> {
    this.isOpen = false
    await this.#replica!.end()
  }

  /** Stops it where it stands for so long. */
  async stop(ms: number): Promise<void> {
    this.isOpen = false
    this.#replica!.signal('SIGSTOP')
    await pause(ms)
    this.#replica!.signal('SIGCONT')
    this.isOpen = true
  }

  async close(): Promise<void> {
    await this.kill()
    this.proxy.close()
  }
}
