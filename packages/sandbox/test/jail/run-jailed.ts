import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { JailedStart, ServerJail, ServerStart } from '@bulkhead/contract'

export interface Ended {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
  readonly signal: string | null
  /** What the jail reported. */
  readonly reported: readonly string[]
}

/** Starts a server in its jail, as a bridge does, and reads its output until it ends. */
export async function runJailed(
  jail: ServerJail, start: ServerStart, input = '', started?: (pid: number) => void,
): Promise<Ended> {
  const reported: string[] = []
  const jailed = await jail.prepare(start, (line) => reported.push(line))
  const child = startJailed(jailed)
  started?.(child.pid!)
  jailed.watch(child.pid!, (why) => reported.push(why))
  child.stdin!.end(input)
  const ended = new Promise<readonly [number | null, NodeJS.Signals | null]>((resolve) => {
    child.once('exit', (...how) => resolve(how))
  })
  const [stdout, stderr, [code, signal]] = await Promise.all([text(child.stdout!), text(child.stderr!), ended])
  await jailed.release()
  return { stdout, stderr, code, signal, reported }
}

/** Starts a server in its jail. */
export function startJailed({ command: [file, ...args], cwd, env, descriptors }: JailedStart) {
  const stdio = ['pipe', 'pipe', 'pipe', ...descriptors.map((bytes) => bytes === null ? 'ignore' : 'pipe')] as const
  const child = spawn(file!, args, { cwd, env, detached: true, stdio: [...stdio] })
  descriptors.forEach((bytes, at) => void (child.stdio[at + 3] as Writable | null)?.end(bytes))
  return child
}
