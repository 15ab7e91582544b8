import { fileURLToPath } from 'node:url'
import { PostgresProxy } from '../../../../../scripts/postgres/proxy.ts'
import type { PostgresServer } from '../../../../../scripts/postgres/server.ts'
import { ReplicaProcess } from '../../replicas/replica.ts'
import type { HostOutcome } from './chaos-work.ts'

const HOST = fileURLToPath(new URL('./chaos-host.ts', import.meta.url))

export const pause = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms) })

export const urlBehind = (proxy: PostgresProxy, server: PostgresServer): string =>
  server.url().replace(`:${server.port}/`, `:${proxy.port}/`)

/** One of the hosts, and each that follows it, behind a proxy that can cut its connections. */
export class Place {
  readonly #folder: string
  readonly #url: string
  readonly #given: object
  readonly #program: string
  readonly proxy: PostgresProxy
  #replica: ReplicaProcess | undefined
  /** Whether calls are sent to it. One that stands still gets none. */
  isOpen = false

  private constructor(folder: string, url: string, proxy: PostgresProxy, given: object, program: string) {
    this.#folder = folder
    this.#url = url
    this.#given = given
    this.#program = program
    this.proxy = proxy
  }

  /** Each place has an audit of its own. `given`: what its program gets besides. */
  static async open(
    folder: string, server: PostgresServer, name: string, given: object = {}, program = HOST,
  ): Promise<Place> {
    const proxy = await PostgresProxy.start(server.port)
    const place = new Place(folder, `${urlBehind(proxy, server)}&name=${name}`, proxy, given, program)
    await place.start()
    return place
  }

  async start(): Promise<void> {
    this.#replica = await ReplicaProcess.start(this.#folder, { ...this.#given, url: this.#url }, this.#program)
    this.isOpen = true
  }

  /** Rejects with the code of the error, or when the host has ended. */
  ask(method: 'call' | 'answer', ...args: readonly unknown[]): Promise<HostOutcome> {
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
