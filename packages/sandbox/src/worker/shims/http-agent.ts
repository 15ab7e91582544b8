import { EventEmitter } from 'node:events'

/** A connection that belongs to the host. It exists for libraries that listen to one. */
export class Socket extends EventEmitter {
  readonly connecting = false
  readonly encrypted = false
  readonly destroyed = false
  readonly remoteAddress = undefined

  setTimeout(): this { return this }
  setNoDelay(): this { return this }
  setKeepAlive(): this { return this }
  ref(): this { return this }
  unref(): this { return this }
  destroy(): this { return this }
  end(): this { return this }
}

/** The host keeps connections. An agent only exists. */
export class Agent extends EventEmitter {
  readonly options: object
  readonly maxSockets = Infinity
  readonly maxFreeSockets = 256
  readonly maxTotalSockets = Infinity
  readonly sockets = {}
  readonly freeSockets = {}
  readonly requests = {}
  readonly defaultPort: number = 80
  readonly protocol: string = 'http:'

  constructor(options: object = {}) {
    super()
    this.options = { ...options }
  }

  getName({ host = 'localhost', port = '' }: { readonly host?: string; readonly port?: number | string } = {}): string {
    return `${host}:${port}:`
  }

  destroy(): void {}
}

export class SecureAgent extends Agent {
  override readonly defaultPort = 443
  override readonly protocol = 'https:'
}
