import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A server that counts what reaches it, and answers when the test wants. */
export class Bank {
  /** The bodies of all POST requests. */
  readonly posts: string[] = []
  readonly #server: Server
  readonly #waiting: ServerResponse[] = []
  #hold: { readonly method: string; readonly arrived: PromiseWithResolvers<void> } | undefined

  private constructor() {
    this.#server = createServer(async (request, response) => {
      if (request.method === 'POST') this.posts.push(await text(request))
      if (this.#hold?.method !== request.method) return void response.end(`key ${request.headers.authorization}`)
      this.#waiting.push(response)
      this.#hold!.arrived.resolve()
    })
  }

  static async open(): Promise<Bank> {
    const bank = new Bank()
    await new Promise<void>((resolve) => { bank.#server.listen(0, '127.0.0.1', resolve) })
    return bank
  }

  /** As a manifest names it. */
  get place(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get url(): string {
    return `http://${this.place}/`
  }

  /** Requests with this method wait from now on. */
  hold(method: string): { readonly arrived: Promise<void> } {
    this.#hold = { method, arrived: Promise.withResolvers() }
    return { arrived: this.#hold.arrived.promise }
  }

  /** Answers all, and those that follow. */
  release(): void {
    this.#hold = undefined
    for (const response of this.#waiting.splice(0)) response.end()
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
