import type { Host, SwitchReport } from '@bulkhead/host'
import type { OpenPlace } from './open-place.ts'

/** The folder that a host works in, and those it has left whose sessions are still open. */
export class OpenPlaces {
  readonly #host: Host
  readonly #open: Set<OpenPlace>
  #current: OpenPlace

  constructor(host: Host, first: OpenPlace) {
    this.#host = host
    this.#open = new Set([first])
    this.#current = first
    this.#attach()
  }

  get servers(): OpenPlace['servers'] {
    return this.#current.servers
  }

  async switchTo(next: OpenPlace): Promise<SwitchReport> {
    this.#open.add(next)
    const left = this.#current
    const switched = await this.#host.switchWorkspace(next).catch(async (refused: unknown) => {
      await this.#leave(next)
      throw refused
    })
    left.servers.attach(undefined)
    this.#current = next
    this.#attach()
    return { ...switched, unloaded: switched.unloaded.finally(() => this.#leave(left)) }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((place) => this.#leave(place)))
  }

  #attach(): void {
    this.#current.servers.attach((report) => this.#host.reload({ report }))
  }

  async #leave(place: OpenPlace): Promise<void> {
    this.#open.delete(place)
    await Promise.all([place.sandbox.close(), place.servers.close()])
  }
}
