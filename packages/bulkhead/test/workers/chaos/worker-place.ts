import { PostgresProxy } from '../../../../../scripts/postgres/proxy.ts'
import type { PostgresServer } from '../../../../../scripts/postgres/server.ts'
import { urlBehind } from '../../postgres/chaos/chaos-hosts.ts'
import { CACHE } from '../../cache.ts'
import { WorkerProcess, type WorkerTerms } from '../fleet.ts'
import { FLEET_TIMES } from './fleet-work.ts'

/** One of the workers, and each that follows it, behind a proxy that can cut its connections. */
export class WorkerPlace {
  readonly name: string
  readonly proxy: PostgresProxy
  readonly #terms: WorkerTerms
  #process: WorkerProcess | undefined

  private constructor(name: string, proxy: PostgresProxy, terms: WorkerTerms) {
    this.name = name
    this.proxy = proxy
    this.#terms = terms
  }

  static async open(
    name: string, server: PostgresServer, terms: Pick<WorkerTerms, 'home' | 'ceiling' | 'clockMs'>,
  ): Promise<WorkerPlace> {
    const proxy = await PostgresProxy.start(server.port)
    const place = new WorkerPlace(name, proxy, {
      ...terms, url: urlBehind(proxy, server), times: FLEET_TIMES, cache: CACHE, labels: ['gpu'], env: { WORKER: name },
    })
    await place.start()
    return place
  }

  async start(): Promise<void> {
    this.#process = WorkerProcess.start(this.#terms)
    await this.#process.until('ready')
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process!.child.kill(signal)
  }

  async kill(): Promise<void> {
    await this.#process?.end()
  }

  async close(): Promise<void> {
    await this.kill()
    this.proxy.close()
  }
}
