import { appendFileSync, readFileSync } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Deed } from './fleet-work.ts'

/** Counts what tools do, in a file, and can leave the tools of one worker without an answer. */
export class Ledger {
  readonly #file: string
  readonly #server: Server
  readonly #waiting: ServerResponse[] = []
  #held: { readonly worker: string; readonly arrived: PromiseWithResolvers<void> } | undefined
  /** Runs that stood still between two effects until their lease was lost. */
  readonly stopped = new Set<string>()

  private constructor(file: string) {
    this.#file = file
    appendFileSync(file, '')
    this.#server = createServer((request, response) => {
      const deed = JSON.parse(decodeURIComponent(request.url!.slice(request.url!.indexOf('?') + 1))) as Deed
      appendFileSync(file, `${JSON.stringify(deed)}\n`)
      if (this.#held?.worker !== deed.worker || deed.at !== 'first' || deed.tool !== 'acts') return void response.end()
      this.#waiting.push(response)
      this.stopped.add(deed.run)
      this.#held.arrived.resolve()
    })
  }

  static async open(file: string): Promise<Ledger> {
    const ledger = new Ledger(file)
    await new Promise<void>((resolve) => { ledger.#server.listen(0, '127.0.0.1', resolve) })
    return ledger
  }

  get place(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get url(): string {
    return `http://${this.place}/`
  }

  /** Resolves when a tool of this worker waits between two effects that must not happen twice. */
  hold(worker: string): Promise<void> {
    this.#held = { worker, arrived: Promise.withResolvers() }
    return this.#held.arrived.promise
  }

  release(): void {
    this.#held = undefined
    for (const response of this.#waiting.splice(0)) response.end()
  }

  deeds(): readonly Deed[] {
    return readFileSync(this.#file, 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Deed)
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
