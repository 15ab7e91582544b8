import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { BulkheadError } from '../../src/index.ts'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'
import { methodsOf, type Methods } from './fixtures/methods.ts'

const HOST = fileURLToPath(new URL('./fixtures/replica.ts', import.meta.url))

interface Word {
  readonly id: number
  readonly result?: unknown
  readonly error?: string
}

/** As JSON.parse types it. */
type Parsed = ReturnType<typeof JSON.parse>

/** One of several hosts on one store. */
export interface Replica {
  /** Resolves with the result as JSON, or rejects with the code of the error. */
  ask(method: string, ...args: readonly unknown[]): Promise<Parsed>
  /** Ends it: without a warning if it is a process, otherwise it closes. */
  end(): Promise<void>
  /** Stops it where it stands, or lets it go on. Only a process. */
  readonly signal?: (signal: 'SIGSTOP' | 'SIGCONT') => void
}

/** Each in a process of its own in `pnpm soak`. A process takes a second of CPU time to start. */
export const startReplica = (folder: string, config: object): Promise<Replica> =>
  thoroughly<Start>(InsideReplica.start, ReplicaProcess.start)(folder, config)

type Start = (folder: string, config: object) => Promise<Replica>

class InsideReplica implements Replica {
  readonly #methods: Methods

  private constructor(methods: Methods) {
    this.#methods = methods
  }

  static async start(folder: string, config: object): Promise<Replica> {
    return new InsideReplica(await methodsOf(folder, CACHE, config))
  }

  async ask(method: string, ...args: readonly unknown[]): Promise<Parsed> {
    try {
      const result = await this.#methods[method]!(...JSON.parse(JSON.stringify(args)) as never[])
      return JSON.parse(JSON.stringify(result ?? null))
    } catch (error) {
      throw new Error(BulkheadError.from(error).code, { cause: error })
    }
  }

  async end(): Promise<void> {
    await this.ask('close')
  }
}

/** A host in its own process. It ends as a lost machine does. */
export class ReplicaProcess implements Replica {
  readonly #child
  readonly #open = new Map<number, PromiseWithResolvers<Word>>()
  readonly #ended = Promise.withResolvers<void>()
  #count = 0
  #hasEnded = false

  private constructor(folder: string, config: object, program: string) {
    const args = [...BUNDLED, program, folder, CACHE, JSON.stringify(config)]
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#open.set(0, Promise.withResolvers())
    // What is written to a process that was killed is lost.
    this.#child.stdin.on('error', () => undefined)
    this.#child.once('close', () => {
      this.#hasEnded = true
      for (const { resolve } of this.#open.values()) resolve({ id: 0, error: 'ended' })
      this.#ended.resolve()
    })
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const word = JSON.parse(line) as Word
      this.#open.get(word.id)?.resolve(word)
      this.#open.delete(word.id)
    })
  }

  /** `program`: another one than the host on the store of the folder. */
  static async start(folder: string, config: object, program = HOST): Promise<ReplicaProcess> {
    const replica = new ReplicaProcess(folder, config, program)
    await replica.#open.get(0)!.promise
    return replica
  }

  async ask(method: string, ...args: readonly unknown[]): Promise<Parsed> {
    if (this.#hasEnded) throw new Error('ended')
    const id = ++this.#count
    const word = Promise.withResolvers<Word>()
    this.#open.set(id, word)
    this.#child.stdin.write(`${JSON.stringify([id, method, ...args])}\n`)
    const { result, error } = await word.promise
    if (error !== undefined) throw new Error(error)
    return result
  }

  readonly signal = (signal: 'SIGSTOP' | 'SIGCONT'): void => {
    this.#child.kill(signal)
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended.promise
  }
}
