// What a thread of a pool runs: one task after another, each by `run` of the entry.
import { flushCompileCache } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from './error-message.ts'
import type { Recording, ThreadData } from './thread-image.ts'

/** Without a question the thread only loads its code. */
export interface Task {
  /** How many tasks the thread had before. */
  readonly turn: number
  readonly question?: { readonly value: unknown }
}

/** Sent when the thread begins a task. From here on, the time of the task counts. */
export interface TaskStart {
  readonly turn: number
  /** Processor time of the thread. */
  readonly cpuMs: number
  /** With the first task of a thread that has read its code from disk. */
  readonly recording?: Recording | undefined
  /** Other entries that cannot be loaded, and why. */
  readonly failed: ReadonlyMap<string, string>
}

/** `cpuMs`: processor time of the task. */
export type TaskResult = { readonly cpuMs: number } & (
  | { readonly value: unknown }
  /** Errors of libraries lose their message when they are sent to another thread. */
  | { readonly fault: string }
)

type Run = (question: unknown) => unknown

const data = workerData as ThreadData
let opened: Promise<Run> | undefined
const failed = new Map<string, string>()

async function open(): Promise<Run> {
  const { run } = await import(data.entry) as { readonly run: Run }
  for (const other of data.others ?? []) {
    await import(other).catch((error: unknown) => failed.set(other, messageOf(error)))
  }
  flushCompileCache()
  delete process.env['NODE_COMPILE_CACHE']
  // What a library prints is no output of the host.
  for (const stream of [process.stdout, process.stderr]) stream.write = () => true
  // All code is loaded. What follows reads untrusted input, so the thread gives up the only right it had.
  process.permission.drop('fs')
  return run
}

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

export async function task({ turn, question }: Task): Promise<TaskResult> {
  opened ??= open()
  const run = await opened
  const before = cpuMs()
  parentPort!.postMessage({ turn, cpuMs: before, recording: data.made, failed } satisfies TaskStart)
  delete data.made
  try {
    const value = question && await run(question.value)
    return { value, cpuMs: cpuMs() - before }
  } catch (error) {
    return { fault: messageOf(error), cpuMs: cpuMs() - before }
  }
}
