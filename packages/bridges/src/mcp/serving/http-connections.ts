import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { MCP_HTTP_LIMITS } from '@bulkhead/contract'

const { connections: MOST, connectionsWithoutToken, connectionsPerAddress, connectionsPerToken } = MCP_HTTP_LIMITS

interface Connection {
  readonly socket: Socket
  readonly address: string
  /** The key of the client of its last request. undefined until it has presented a token. */
  client?: string
  /** Requests without a complete response. */
  open: number
}

/**
 * The connections of a server. Those without a token cannot take all places, and neither can those of one client. A new
 * connection takes the place of the oldest one without a token: a silent connection must not keep out a client that is
 * about to present one.
 */
export class HttpConnections {
  /** Oldest first. */
  readonly #all = new Map<string, Connection>()

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => this.#accept(socket))
  }

  /** Assigns the connection of a request to a client. False if the client has too many, and all are in use. */
  assign({ socket }: IncomingMessage, res: ServerResponse, client: string): boolean {
    const connection = this.#all.get(keyOf(socket))
    // It has ended.
    if (connection === undefined) return false
    const own = [...this.#all.values()].filter((one) => one.client === client && one !== connection)
    if (own.length >= connectionsPerToken && !this.#drop(own.find(isIdle))) return false
    connection.client = client
    connection.open += 1
    res.once('close', () => {
      connection.open -= 1
    })
    return true
  }

  /** Ends all connections of a client. */
  end(client: string): void {
    for (const connection of [...this.#all.values()].filter((one) => one.client === client)) this.#drop(connection)
  }

  #accept(socket: Socket): void {
    const { remoteAddress: address } = socket
    // The client has already disconnected.
    if (address === undefined) return void socket.destroy()
    if (!this.#makeRoom(address)) return void socket.destroy()
    const key = keyOf(socket)
    const connection: Connection = { socket, address, open: 0 }
    this.#all.set(key, connection)
    socket.once('close', () => {
      if (this.#all.get(key) === connection) this.#all.delete(key)
    })
  }

  #makeRoom(address: string): boolean {
    const all = [...this.#all.values()]
    const strangers = all.filter(({ client }) => client === undefined)
    const near = strangers.filter((one) => one.address === address)
    if (near.length >= connectionsPerAddress) return this.#drop(near[0])
    if (strangers.length >= connectionsWithoutToken) return this.#drop(strangers[0])
    return all.length < MOST || this.#drop(strangers[0] ?? all.find(isIdle))
  }

  #drop(connection: Connection | undefined): boolean {
    if (connection === undefined) return false
    this.#all.delete(keyOf(connection.socket))
    connection.socket.destroy()
    return true
  }
}

const isIdle = ({ open }: { readonly open: number }): boolean => open === 0

/** The same for a TLS connection and for the TCP connection below it. */
const keyOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`
