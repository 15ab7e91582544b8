import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { wrap } from 'comlink'
import nodeEndpoint from 'comlink/dist/esm/node-adapter.mjs'
import type { Runner, Side } from '../harness/subject.ts'
import { FrameReader, framed } from '../loads/framed-text.ts'
import type { Payload } from '../loads/echo.ts'
import type { EchoKind, EchoPeer } from '../peers/echo.ts'

const peer = new URL('../peers/echo.ts', import.meta.url)
const echo = (kind: EchoKind): string[] => [fileURLToPath(peer), kind]

/**
 * The minimum for threads: a worker that posts messages back. Messages keep their order, so a queue matches the
 * answers.
 */
export const rawPostMessageOf = (payloadOf: Payload) => ({
  name: 'raw postMessage round trip',
  answer: payloadOf,
  start: async (): Promise<Runner> => {
    const { worker, died, stop } = await startPeerThread(peer, 'raw')
    const waiting: ((answer: unknown) => void)[] = []
    worker.on('message', (message) => waiting.shift()?.(message))
    const run = (i: number) => new Promise<unknown>((resolve) => {
      waiting.push(resolve)
      worker.postMessage(payloadOf(i))
    })
    return { run, died, stop }
  },
} as const satisfies Side)

/** Comlink as in its documentation: its adapter for Node and one exposed object. */
export const comlinkThreadOf = (payloadOf: Payload) => ({
  name: 'plain Comlink in a thread',
  answer: payloadOf,
  start: async (): Promise<Runner> => {
    const { worker, died, stop } = await startPeerThread(peer, 'comlink')
    const remote = wrap<EchoPeer>(nodeEndpoint(worker))
    return { run: (i) => remote.echo(payloadOf(i)), died, stop }
  },
} as const satisfies Side)

/**
 * The minimum for processes: a child that returns each string over a socket pair, in frames of a length and UTF-8. No
 * JSON, no ids, no batches. Frames keep their order, so a queue matches the answers.
 */
export const framedSocketOf = (payloadOf: Payload) => ({
  name: 'bare framed socket round trip',
  answer: payloadOf,
  start: async (): Promise<Runner> => {
    const child = spawn(process.execPath, echo('framed'), { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
    const socket = child.stdio[3] as Socket
    const died = Promise.withResolvers<never>()
    died.promise.catch(() => {}) // Rejects when the child is stopped, which must not be an unhandled rejection.
    const exited = new Promise<void>((resolve) => {
      child.once('exit', (code, signal) => {
        died.reject(new Error(`its process ended with ${signal ?? code}`))
        resolve()
      })
    })
    child.once('error', died.reject)
    const waiting: ((answer: unknown) => void)[] = []
    const reader = new FrameReader((text) => waiting.shift()?.({ text }))
    socket.on('data', (chunk: Buffer) => reader.push(chunk))
    const run = (i: number) => new Promise<unknown>((resolve) => {
      waiting.push(resolve)
      socket.write(framed(payloadOf(i).text))
    })
    const stop = async (): Promise<void> => {
      child.kill()
      await exited
    }
    return { run, died: died.promise, stop }
  },
} as const satisfies Side)

/** The official SDK on both ends with its defaults: a server in a child process, connected by stdio. */
export const mcpStdioOf = (payloadOf: Payload) => ({
  name: 'MCP SDK over stdio',
  answer: (i: number) => [{ type: 'text', text: payloadOf(i).text }],
  start: async (): Promise<Runner> => {
    const client = new Client({ name: 'bench', version: '1.0.0' })
    // The SDK adds a listener to its pipe for every call that waits to be written. By default Node warns at 11.
    EventEmitter.defaultMaxListeners = 100
    await client.connect(new StdioClientTransport({ command: process.execPath, args: echo('mcp') }))
    return {
      run: async (i) => {
        const result = await client.callTool({ name: 'echo', arguments: { text: payloadOf(i).text } })
        if (result.isError === true) throw new Error(`The server rejected call ${i}: ${JSON.stringify(result.content)}`)
        return result.content
      },
      stop: () => client.close(),
    }
  },
} as const satisfies Side)

/** A worker that runs `file`. */
export interface PeerThread extends Required<Pick<Runner, 'died' | 'stop'>> {
  readonly worker: Worker
}

export async function startPeerThread(file: URL, kind?: EchoKind): Promise<PeerThread> {
  const worker = new Worker(file, { argv: [kind] })
  const died = Promise.withResolvers<never>()
  died.promise.catch(() => {}) // Rejects when the worker is stopped, which must not be an unhandled rejection.
  worker.on('error', died.reject)
  worker.on('exit', (code) => died.reject(new Error(`its thread exited with code ${code}`)))
  await Promise.race([once(worker, 'online'), died.promise])
  return { worker, died: died.promise, stop: async () => void (await worker.terminate()) }
}
