import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'

const HOST = fileURLToPath(new URL('./joined-host.ts', import.meta.url))

export interface Line {
  readonly id?: string
  readonly verdict?: unknown
  readonly text?: string
  readonly asked?: string
  readonly ran?: string
  readonly revoked?: number
  readonly flushed?: boolean
  readonly ready?: number
}

/** A host in a process of its own. */
export class HostProcess {
  readonly lines: Line[] = []
  readonly child: ChildProcess
  #count = 0
  #heard = Promise.withResolvers<void>()

  private constructor(folder: string) {
    this.child = spawn(process.execPath, [...BUNDLED, HOST, folder, CACHE], { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.child.stdout! }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as Line)
      this.#tell()
    })
    this.child.once('exit', () => this.#tell())
  }

  static async start(folder: string): Promise<HostProcess> {
    const host = new HostProcess(folder)
    await host.line(({ ready }) => ready !== undefined)
    return host
  }

  /** Makes a call. Returns its id. */
  begin(name: string, args: object = {}): string {
    const id = `c${++this.#count}`
    this.send(JSON.stringify({ id, name, arguments: args }))
    return id
  }

  /** Resolves with its outcome. */
  async call(name: string, args: object = {}): Promise<Line> {
    const id = this.begin(name, args)
    return this.line((line) => line.id === id)
  }

  send(line: string): void {
    this.child.stdin!.write(`${line}\n`)
  }

  /** The first line that matches, once it is there. Rejects when the process ends before. */
  async line(matches: (line: Line) => boolean): Promise<Line> {
    for (;;) {
      const found = this.lines.find(matches)
      if (found) return found
      if (this.child.exitCode !== null || this.child.signalCode !== null) throw new Error('The host has ended.')
      await this.#heard.promise
    }
  }

  /** How often a tool ran. */
  ran(tool: string): number {
    return this.lines.filter(({ ran }) => ran === tool).length
  }

  async end(signal?: NodeJS.Signals): Promise<void> {
    const ended = this.child.exitCode === null && this.child.signalCode === null ? once(this.child, 'exit') : undefined
    if (signal) this.child.kill(signal)
    else this.child.stdin!.end()
    await ended
  }

  #tell(): void {
    this.#heard.resolve()
    this.#heard = Promise.withResolvers()
  }
}
