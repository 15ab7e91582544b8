import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Runner, Side } from '../harness/subject.ts'
import { FrameReader, framed } from '../loads/framed-text.ts'
import type { Payload } from '../loads/payload.ts'

/**
 * The floor between processes: a child that gives back each text it is sent, over a socket pair, in frames of a length and
 * its UTF-8. No JSON, no ids, no batches; frames keep their order, so a queue is all it needs.
 */
export const framedSocketOf = (carried: Payload) => ({
  name: 'bare framed socket round trip',
  answer: carried,
  start: async (): Promise<Runner> => {
    const peer = fileURLToPath(new URL('../peers/framed-echo.ts', import.meta.url))
    const child = spawn(process.execPath, [peer], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
    const socket = child.stdio[3] as Socket
    const died = Promise.withResolvers<never>()
    died.promise.catch(() => {}) // It may reject while nobody waits: at the latest when the child is stopped.
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
      socket.write(framed(carried(i).text))
    })
    const stop = async (): Promise<void> => {
      child.kill()
      await exited
    }
    return { run, died: died.promise, stop }
  },
} as const satisfies Side)
