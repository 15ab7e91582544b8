import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Target } from '../target/target.ts'
import type { FromHost, ToHost } from '../model/protocol.ts'

const MAIN = fileURLToPath(new URL('../host/main.ts', import.meta.url))
const PAGE_BYTES = 4_096
const MB = 1024 * 1024

/** A host under attack, seen from outside. */
export class HostProcess {
  readonly died: Promise<string>
  readonly #child: ChildProcess
  #output = ''
  #listener: (message: FromHost) => void = () => undefined

  private constructor(child: ChildProcess) {
    this.#child = child
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8')
      stream.on('data', (text: string) => void (this.#output = (this.#output + text).slice(-4_000)))
    }
    child.on('message', (message: FromHost) => this.#listener(message))
    child.on('error', () => undefined)
    this.died = Promise.race([
      once(child, 'close').then(([code, signal]) => `${String(signal ?? `code ${code}`)} ${this.#firstError()}`.trim()),
      // An attack may close the channel of a host that goes on running and cannot be reached any more.
      once(child, 'disconnect').then(async () => {
        await Promise.race([once(child, 'close'), new Promise((later) => setTimeout(later, 500))])
        return child.exitCode ?? child.signalCode
          ? `${String(
            child.signalCode ?? `code ${child.exitCode}`,
          )} ${this.#firstError()}`.trim() : 'its channel was closed'
      }),
    ])
  }

  static async start(target: Target): Promise<HostProcess> {
    const host = new HostProcess(fork(MAIN, [], {
      cwd: target.facts.cwd,
      execArgv: ['--no-warnings'],
      env: { PATH: process.env['PATH'], CANARY: target.secret, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    }))
    const ready = new Promise<void>((resolve) => host.listen(({ type }) => type === 'ready' && resolve()))
    const { secret, facts, heldPort } = target
    host.send({ type: 'start', secret, facts, heldPort })
    await Promise.race([ready, host.died.then((how) => Promise.reject(new Error(`The host did not start: ${how}`)))])
    return host
  }

  get alive(): boolean {
    return this.#child.connected && this.#child.exitCode === null && this.#child.signalCode === null
  }

  listen(listener: (message: FromHost) => void): void {
    this.#listener = listener
  }

  send(message: ToHost): void {
    if (this.alive) this.#child.send(message, () => undefined)
  }

  /** Resident memory, or 0 if it has ended or the system has no /proc. */
  megabytes(): number {
    try {
      const text = readFileSync(`/proc/${this.#child.pid}/statm`, 'utf8')
      return Math.round(Number(text.split(' ')[1] ?? 0) * PAGE_BYTES / MB)
    } catch {
      return 0
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.kill('SIGKILL')
    await closed
  }

  #firstError(): string {
    return this.#output.split('\n').find((line) => /error|fatal|abort|assert/i.test(line))?.trim().slice(0, 160) ?? ''
  }
}
