import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer as createRawServer } from 'node:net'
import type { CompartmentTool, ErrorCode, Net } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { BulkheadError, NO_GRANT } from '@bulkhead/contract'
import { expect, onTestFinished } from 'vitest'
import { netAccess } from '../../../sandbox/src/extension/net-access.ts'
import type { CapabilityUnit, OpenCall } from '../../src/model/capability.ts'
import type { NetOptions } from '../../src/net/net.ts'
import { netCapability } from '../../src/net/net.ts'

export interface Listening {
  readonly port: number
  /** Host and port, as a grant lists it. */
  readonly place: string
  /** The origin of its URLs. */
  readonly base: string
  /** All connections so far. */
  readonly sockets: Socket[]
}

export interface Loopback extends Listening {
  /** `METHOD url` of each received request. */
  readonly seen: string[]
  readonly requests: IncomingMessage[]
}

interface ResolvedPath {
  readonly host?: string
  readonly port?: number
}

export async function serve(answer: RequestListener, at: ResolvedPath = {}): Promise<Loopback> {
  const seen: string[] = []
  const requests: IncomingMessage[] = []
  const listener: RequestListener = (request, response) => {
    seen.push(`${request.method} ${request.url}`)
    requests.push(request)
    answer(request, response)
  }
  const server = createServer(listener)
  const listening = await listen(server, at)
  onTestFinished(() => server.closeAllConnections())
  return { ...listening, seen, requests }
}

/** A raw TCP server, for responses that no HTTP server sends. */
export async function serveRaw(answer: (socket: Socket) => void): Promise<Listening> {
  return listen(createRawServer((socket) => {
    socket.on('error', () => undefined)
    answer(socket)
  }))
}

export async function listen(
  server: Server, { host = '127.0.0.1', port: wanted = 0 }: ResolvedPath = {},
): Promise<Listening> {
  const sockets: Socket[] = []
  server.on('connection', (socket: Socket) => sockets.push(socket))
  server.listen(wanted, host)
  await once(server, 'listening')
  onTestFinished(() => new Promise<void>((resolve) => {
    server.close(() => resolve())
    for (const socket of sockets) socket.destroy()
  }))
  const { port } = server.address() as AddressInfo
  return { port, place: `${host}:${port}`, base: `http://${host}:${port}`, sockets }
}

/** Resolves when the peer has disconnected, even if it already has. */
export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => (socket.closed ? resolve() : void socket.once('close', () => resolve())))

export function newNet(options: NetOptions = {}): CapabilityUnit {
  const net = netCapability(options)
  onTestFinished(() => net.close())
  return net
}

let calls = 0

export function callOf(hosts: readonly string[], signal: AbortSignal = new AbortController().signal): OpenCall {
  const tool: CompartmentTool = { name: 'run', requires: {}, inputSchema: {}, grant: { ...NO_GRANT, net: { hosts } } }
  return { callId: `call-${++calls}`, tool, signal }
}

/** `runtime.net` of a tool with this grant, directly on the capability. Values pass through JSON. */
export function reach(net: CapabilityUnit, call: OpenCall): Net {
  return netAccess(async (method, ...args) => {
    const plain = JSON.parse(JSON.stringify(args)) as Json[]
    return JSON.parse(JSON.stringify(await net.capabilities[method]!(call, plain))) as Json
  })
}

export const fetchRaw = async (
  net: CapabilityUnit, call: OpenCall, url: string, request?: JsonObject,
): Promise<JsonObject> =>
  await net.capabilities['net.fetch']!(call, request === undefined ? [url] : [url, request]) as JsonObject

export const readRaw = async (net: CapabilityUnit, call: OpenCall, ...args: Json[]): Promise<Json> =>
  net.capabilities['net.read']!(call, args)

/** The error of a rejected promise. Fails if it resolves or rejects with another kind of error. */
export async function refusal(promise: Promise<unknown>): Promise<BulkheadError> {
  const [error] = await Promise.allSettled([promise])
  if (error.status === 'fulfilled') throw new Error(`not refused: ${JSON.stringify(error.value)}`)
  if (!BulkheadError.is(error.reason)) throw error.reason
  return error.reason
}

export const codeOf = async (promise: Promise<unknown>): Promise<string> => (await refusal(promise)).code

/** A matcher for such an error. */
export const errorWith = (code: ErrorCode, text: string): object =>
  ({ code, message: expect.stringContaining(text) as string })
