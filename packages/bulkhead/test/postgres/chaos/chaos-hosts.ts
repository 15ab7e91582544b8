import { fileURLToPath } from 'node:url'
import { setTimeout as pause } from 'node:timers/promises'
import { PostgresProxy } from '../../../../../scripts/postgres/proxy.ts'
import type { PostgresServer } from '../../../../../scripts/postgres/server.ts'
import { type Replica, ReplicaProcess } from '../../replicas/replica.ts'
import type { HostOutcome } from './chaos-work.ts'

const HOST = fileURLToPath(new URL('./chaos-host.ts', import.meta.url))

export const urlBehind = (proxy: PostgresProxy, url: string): string => url.replace(/:\d+\//, `:${proxy.port}/`)

/** Starts a host in this process. */
export type StartInside = (folder: string, given: object) => Promise<Replica>

interface PlaceOptions {
  readonly url: string
  /** In a process of its own, or in this one. Default: a host of the chaos test, in its own. */
  readonly program?: string | StartInside
  readonly isBehindProxy?: boolean
}

/** One of the hosts, and each that follows it, behind a proxy that can cut its connections. */
export class Place {
  readonly #folder: string
  readonly #url: string
  readonly #given: object
  readonly #program: string | StartInside
  readonly proxy: PostgresProxy
  #replica: Replica | undefined
  /** Whether calls are sent to it. One that stands still gets none. */
  isOpen = false

  private constructor(folder: string, url: string, proxy: PostgresProxy, given: object, program: string | StartInside) {
    this.#folder = folder
    this.#url = url
    this.#given = given
    this.#program = program
    this.proxy = proxy
  }

  /** Each place has an audit of its own. `given`: what its program gets besides. */
  static async open(
    folder: string, server: PostgresServer, name: string, given: object, options: PlaceOptions,
  ): Promise<Place> {
    const { url, program = HOST, isBehindProxy = true } = options
    const proxy = await PostgresProxy.start(server.port)
    const used = isBehindProxy ? urlBehind(proxy, url) : url
    const place = new Place(folder, `${used}&name=${name}`, proxy, given, program)
    await place.start()
    return place
  }

  async start(program = this.#program): Promise<void> {
    const given = { ...this.#given, url: this.#url }
    this.#replica = typeof program === 'string' ? await ReplicaProcess.start(this.#folder, given, program)
      : await program(this.#folder, given)
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
    const { signal } = this.#replica!
    signal!('SIGSTOP')
    await pause(ms)
    signal!('SIGCONT')
    this.isOpen = true
  }

  async close(): Promise<void> {
    await this.kill()
    this.proxy.close()
  }
}
