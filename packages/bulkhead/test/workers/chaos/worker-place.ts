import { openPostgresStore } from '@bulkhead/store-postgres'
import { PostgresProxy } from '../../../../../scripts/postgres/proxy.ts'
import type { PostgresServer } from '../../../../../scripts/postgres/server.ts'
import { createWorker } from '../../../src/facade/create-worker.ts'
import { urlBehind } from '../../postgres/chaos/chaos-hosts.ts'
import { insist } from '../../postgres/chaos/patience.ts'
import { CACHE } from '../../cache.ts'
import { WorkerProcess, type WorkerTerms } from '../fleet.ts'
import { FLEET_TIMES, type Running } from './fleet-work.ts'

/** One of the workers, and each that follows it, behind a proxy that can cut its connections. */
export class WorkerPlace {
  readonly name: string
  readonly proxy: PostgresProxy
  readonly #terms: WorkerTerms
  #process: WorkerProcess | undefined
  /** Ends the one that is in this process. */
  #close: (() => Promise<void>) | undefined

  private constructor(name: string, proxy: PostgresProxy, terms: WorkerTerms) {
    this.name = name
    this.proxy = proxy
    this.#terms = terms
  }

  static async open(
    name: string, server: PostgresServer, url: string, { hasProcess, isBehindProxy, clockMs }: Running,
    terms: Pick<WorkerTerms, 'home' | 'ceiling'>,
  ): Promise<WorkerPlace> {
    const proxy = await PostgresProxy.start(server.port)
    const place = new WorkerPlace(name, proxy, {
      ...terms, url: isBehindProxy ? urlBehind(proxy, url) : url, clockMs, times: FLEET_TIMES, cache: CACHE,
      labels: ['gpu'], env: { WORKER: name },
    })
    await place.start(hasProcess)
    return place
  }

  async start(hasProcess: boolean): Promise<void> {
    if (!hasProcess) return this.#startInside()
    this.#process = WorkerProcess.start(this.#terms)
    await this.#process.until('ready')
  }

  async #startInside(): Promise<void> {
    const { url, times, clockMs: _, ...terms } = this.#terms
    const store = await insist(() => openPostgresStore({ url }, times))
    const worker = await insist(() => createWorker({ ...terms, store }))
    this.#close = async () => {
      await worker.close()
      await store.close()
    }
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process!.child.kill(signal)
  }

  async kill(): Promise<void> {
    await this.#process?.end()
    await this.#close?.()
  }

  async close(): Promise<void> {
    await this.kill()
    this.proxy.close()
  }
}
